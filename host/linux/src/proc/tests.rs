use std::path::PathBuf;

use super::*;
use crate::{ErrorKind, testing::host};

const SOON: Duration = Duration::from_secs(20);

#[test]
fn output_and_exit_code() {
    let output = Program::new("sh").args(["-c", "cat; echo no >&2; exit 3"]).input("fed").run(SOON).unwrap();
    assert_eq!((&*output.stdout, &*output.stderr, output.code()), ("fed", "no\n", Some(3)));
    let error = Program::new("sh").args(["-c", "echo why >&2; exit 3"]).check(SOON).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::Failed, "sh"));
    assert!(error.to_string().contains("why"), "{error}");
    let killed = Program::new("sh").args(["-c", "kill -9 $$"]).run(SOON).unwrap();
    assert_eq!((killed.code(), killed.signal(), killed.success()), (None, Some(9), false));
    assert!(Program::new("no-such-program").run(SOON).unwrap_err().is_not_found());
}

#[test]
fn much_input_and_output_at_once() {
    let input = vec![b'x'; 3 << 20];
    let output = Program::new("cat").input(input).run(SOON).unwrap();
    assert_eq!(output.stdout.len(), 3 << 20);
    // Nobody reads the input: that is no error.
    assert!(Program::new("true").input(vec![b'x'; 1 << 20]).run(SOON).unwrap().success());
}

#[test]
fn a_bound_ends_it() {
    let start = Instant::now();
    let error = Program::new("sleep").arg("1000").run(Duration::from_millis(50)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(start.elapsed() < SOON);
}

#[test]
fn a_daemon_left_running_does_not_hold_the_caller() {
    let marker = format!("1000.{}", std::process::id());
    let script = format!("sleep {marker} & echo started");
    let start = Instant::now();
    let output = Program::new("sh").args(["-c", &script]).run(SOON).unwrap();
    assert_eq!(output.stdout, "started\n");
    assert!(start.elapsed() < SOON);
    let left = find(|line| line.len() == 2 && line[1] == marker).unwrap();
    assert_eq!(left.len(), 1);
    left[0].terminate(SOON).unwrap();
    assert!(!left[0].is_alive());
}

#[test]
fn detached_in_a_namespace_with_a_session_of_its_own() {
    let (namespace, _handle) = host();
    let process = Program::new("sleep").arg("1000").netns(&namespace).detach().unwrap();
    assert!(process.is_alive());
    assert!(Netns::of_pid(process.pid()).unwrap().same_as(&namespace));
    let inside = find_in_netns(&namespace).unwrap();
    assert_eq!(inside.iter().map(Process::pid).collect::<Vec<_>>(), [process.pid()]);
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.pid())).unwrap();
    let session: i32 = stat.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap().parse().unwrap();
    assert_eq!(session, process.pid());
    assert_eq!(fs::read_link(format!("/proc/{}/fd/0", process.pid())).unwrap(), PathBuf::from("/dev/null"));
    process.terminate(SOON).unwrap();
    assert!(!process.is_alive());
    process.terminate(SOON).unwrap();
}

#[test]
fn one_that_ignores_the_request_is_killed() {
    let directory = tempfile::tempdir().unwrap();
    let ready = directory.path().join("ready");
    let script = format!("trap '' TERM; touch {}; while :; do sleep 0.05; done", ready.display());
    let process = Program::new("sh").args(["-c", &script]).detach().unwrap();
    while !ready.exists() {
        assert!(!process.wait_exit(Duration::from_millis(5)));
    }
    process.terminate(Duration::from_millis(100)).unwrap();
    assert!(!process.is_alive());
}

#[test]
fn adoption_checks_what_runs_under_the_number() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pid");
    assert!(Process::adopt(&file, "1000").unwrap().is_none());
    fs::write(&file, "not a number").unwrap();
    assert!(Process::adopt(&file, "1000").unwrap().is_none());

    let process = Program::new("sleep").arg("1000.5").detach().unwrap();
    fs::write(&file, format!("{}\n", process.pid())).unwrap();
    let adopted = Process::adopt(&file, "1000.5").unwrap().unwrap();
    assert_eq!(adopted.pid(), process.pid());
    assert_eq!(adopted.command_line(), ["sleep", "1000.5"]);
    assert!(Process::adopt(&file, "another").unwrap().is_none());
    process.terminate(SOON).unwrap();
    assert!(Process::adopt(&file, "1000.5").unwrap().is_none());
    assert!(Process::open(0).unwrap().is_none());
    assert!(Process::open(-1).unwrap().is_none());
}

#[test]
fn children_are_watched_without_a_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let process = Program::new("sleep").arg("1000").detach().unwrap();
        process.signal(Signal::SIGTERM).unwrap();
        tokio::time::timeout(SOON, process.exited()).await.unwrap().unwrap();
        let output = Program::new("echo").arg("hello").output(SOON).await.unwrap();
        assert_eq!(output.stdout, "hello\n");
    });
}

#[test]
fn a_child_is_waited_for() {
    let mut child = Program::new("sh").args(["-c", "exit 4"]).spawn().unwrap();
    assert_eq!(child.wait(SOON).unwrap(), Some(Some(4)));
    let mut child = Program::new("sleep").arg("1000").spawn().unwrap();
    assert_eq!(child.wait(Duration::ZERO).unwrap(), None);
    child.stop(SOON).unwrap();
}
