(() => {
  const form = document.querySelector(".filter");
  if (!form) return;
  const output = form.querySelector("output");
  const nothing = document.querySelector(".nothing");
  const chosen = (name) => form.querySelector(`input[name="${name}"]:checked`)?.value ?? "";
  const apply = () => {
    const [board, metric, verdict] = ["board", "metric", "verdict"].map(chosen);
    let shown = 0;
    for (const part of document.querySelectorAll(".part")) {
      const wanted = (!board || part.dataset.board === board) && (!metric || part.dataset.metric === metric);
      let here = 0;
      for (const row of part.querySelectorAll("[data-verdicts]")) {
        const fits = !verdict || row.dataset.verdicts.split(" ").includes(verdict);
        row.hidden = !fits;
        if (wanted && fits && row.matches(".card")) here += 1;
      }
      part.hidden = !wanted || here === 0;
      shown += here;
    }
    output.textContent = `${shown} ${shown === 1 ? "test" : "tests"} shown`;
    nothing.hidden = shown > 0;
  };
  form.addEventListener("change", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
})();
