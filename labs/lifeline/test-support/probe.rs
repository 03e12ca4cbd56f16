//! A program with the hook, for the tests: `lifeline-probe GRACE_MS PROGRAM ARG...` runs a command under a supervisor,
//! prints its process id and how it ended.

fn main() {
    kab_lifeline::main_hook();
    let mut args = std::env::args().skip(1);
    let grace =
        args.next().and_then(|grace| grace.parse().ok()).expect("first argument: grace in milliseconds");
    let program = args.next().expect("second argument: program");
    let command =
        kab_lifeline::Command::new(program).args(args).grace(std::time::Duration::from_millis(grace));
    match kab_lifeline::Lifeline::this_program().spawn(command) {
        Ok(mut child) => {
            println!("pid {}", child.id());
            println!("{:?}", child.wait());
        }
        Err(error) => println!("{error:?}"),
    }
}
