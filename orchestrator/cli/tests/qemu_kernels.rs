//! Kernels that kab did not build, on a real board.
#![allow(clippy::unwrap_used)]

mod support;

use kab_model::VariantName;
use support::{Bench, FIO, LAB, complete_visits, experiment};

/// The image of a kernel that kab has built, as somebody might send it; with it a command line of its own. The same image
/// without one is not measured: nothing could tell it from the kernel it was copied from.
#[test]
fn qemu_a_prebuilt_kernel_is_booted_and_told_from_others() {
    let bench = Bench::new();
    bench.write("lab.yaml", LAB);
    let schedule = "{visits: 2, trials: 1, warmup: 0}";
    bench.write("stock.yaml", &experiment("{stock: {ref: linux-source}}", schedule, FIO));
    let (built, _) = bench.expect(0, &["build", "stock.yaml"]);
    let (_, image) = built.trim_end().rsplit_once(", ").unwrap();
    let sent = bench.path().join("bzImage");
    std::fs::copy(image, &sent).unwrap();

    let variants = "{stock: {ref: linux-source}, sent: {image: ./bzImage}, \
                    sent quiet: {from: sent, cmdline: \"quiet loglevel=3\"}}";
    bench.write("e.yaml", &experiment(variants, schedule, FIO));
    let (report, _) = bench.expect(0, &["run", "e.yaml"]);
    println!("{report}");
    bench.wait_until_gone("after the run");

    let run = bench.reader().run().unwrap();
    assert!(run.finished);
    assert_eq!(complete_visits(&run), 4, "two kernels, two rounds");
    let artifact = |name: &str| run.artifact(&VariantName(name.into())).unwrap();
    let (stock, quiet) = (artifact("stock"), artifact("sent quiet"));
    assert_eq!((&quiet.release, &quiet.build_id), (&stock.release, &stock.build_id));
    assert!(quiet.build_id.is_some(), "it is read from the image");
    for visit in run.visits().filter(|visit| visit.key.variant.0 == "sent quiet") {
        let identity = &visit.proof.as_ref().unwrap().identity;
        assert!(identity.cmdline.contains("quiet loglevel=3"), "{}", identity.cmdline);
        assert_eq!(identity.build_id, stock.build_id);
    }
    assert!(report.contains("identical"), "{report}");
    assert!(report.contains("a kernel that kab did not build"), "{report}");
    assert!(report.contains("quiet loglevel=3"), "{report}");
    assert!(!report.contains("Not measured"), "{report}");
    bench.expect(0, &["runs", "verify", "last"]);

    // Another image under that name is another experiment: the run that is done is not taken for it.
    let mut other = std::fs::read(&sent).unwrap();
    other.push(0);
    std::fs::write(&sent, other).unwrap();
    let (plan, _) = bench.expect(0, &["plan", "e.yaml"]);
    assert!(plan.contains(&format!("bzImage -> {}", stock.release)), "{plan}");
}

/// The disk's driver is a module of one variant: without it there is no disk, and with it nothing else differs. Needs a
/// second kernel from scratch, so `make test-kernel` runs it.
#[test]
fn kernel_build_of_modules_goes_to_the_board_with_its_kernel() {
    let bench = Bench::new();
    bench.write("lab.yaml", LAB);
    let config = "[CONFIG_MODULES=y, CONFIG_MODULE_UNLOAD=y, CONFIG_NVME_CORE=m, CONFIG_BLK_DEV_NVME=m]";
    let variants =
        format!("{{stock: {{ref: linux-source}}, as module: {{ref: linux-source, config: {config}}}}}");
    bench.write("e.yaml", &experiment(&variants, "{visits: 1, trials: 1, warmup: 0}", FIO));
    let (report, _) = bench.expect(0, &["run", "e.yaml"]);
    println!("{report}");
    bench.wait_until_gone("after the run");
    let run = bench.reader().run().unwrap();
    assert!(run.finished);
    assert_eq!(complete_visits(&run), 2, "both find their disk");
    let artifact = run.artifact(&VariantName("as module".into())).unwrap();
    assert!(artifact.modules.is_some());
    let compared = &run.differences[&VariantName("as module".into())];
    let symbols: Vec<String> = compared.symbols.iter().map(ToString::to_string).collect();
    assert!(symbols.contains(&"CONFIG_BLK_DEV_NVME y -> m".to_owned()), "{symbols:?}");
    let flat = report.replace("\n  ", " ");
    assert!(
        flat.contains("config +CONFIG_MODULES=y") || flat.contains("such as +CONFIG_MODULES=y"),
        "{report}"
    );
    // Once more: what differs is told before the next run, now that both are built.
    let (plan, _) = bench.expect(0, &["plan", "e.yaml"]);
    assert!(plan.contains("final .config differs in ") && plan.contains("kernel built: "), "{plan}");
}
