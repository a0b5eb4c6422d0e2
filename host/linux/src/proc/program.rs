//! Starting programs.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::Path,
    process::{Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::signal::Signal,
};

use super::Process;
use crate::{
    error::{Error, ErrorKind, Result},
    netns::Netns,
};

/// Output kept of one stream; the rest is read and dropped, so that a talkative program cannot fill the memory.
const OUTPUT_LIMIT: usize = 16 << 20;

/// A program to be started: build it up, then [`run`](Program::run), [`spawn`](Program::spawn) or
/// [`detach`](Program::detach).
#[derive(Debug)]
pub struct Program {
    command: Command,
    name: String,
    namespace: Option<Netns>,
    input: Vec<u8>,
}

/// What a program left behind.
#[derive(Debug, Clone)]
pub struct Output {
    status: ExitStatus,
    /// Standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Standard error; bytes that are not UTF-8 are replaced.
    pub stderr: String,
}

impl Output {
    /// Whether it ended with 0.
    pub fn success(&self) -> bool {
        self.status.success()
    }

    /// Its exit code; `None` when a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

impl Program {
    /// A program by path, or by name to be found in `PATH`.
    #[allow(clippy::disallowed_methods, reason = "this is the place where processes are started")]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref();
        let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned();
        Self { command: Command::new(program), name, namespace: None, input: Vec::new() }
    }

    /// Adds an argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Adds arguments.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts it with an empty environment (before [`Program::env`]).
    pub fn env_clear(mut self) -> Self {
        self.command.env_clear();
        self
    }

    /// Its working directory.
    pub fn directory(mut self, path: impl AsRef<Path>) -> Self {
        self.command.current_dir(path);
        self
    }

    /// Starts it inside a network namespace. Other than `ip netns exec` this leaves its mounts as they are: `/sys`
    /// shows our devices, not the namespace's.
    pub fn netns(mut self, namespace: &Netns) -> Self {
        self.namespace = Some(namespace.clone());
        self
    }

    /// Its standard input ([`Program::run`] only).
    pub fn input(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.input = bytes.into();
        self
    }

    /// Runs it to its end, at most `limit`, and returns what it wrote, whatever its exit code.
    ///
    /// A daemon that it leaves running is no obstacle, even when that keeps the output open.
    /// `NotFound` when there is no such program; `TimedOut` when the limit is over: it is killed then.
    pub fn run(mut self, limit: Duration) -> Result<Output> {
        let input = std::mem::take(&mut self.input);
        let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
        self.command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let name = self.name.clone();
        let mut child = self.start()?;
        let deadline = Instant::now() + limit;
        let finished = child.exchange(input, deadline);
        if !matches!(finished, Ok(Some(_))) {
            let _ = child.process.signal(Signal::SIGKILL);
        }
        let status = child.child.wait().map_err(|e| Error::from_io("wait for", &*name, &e))?;
        match finished.map_err(|e| Error::from_io("talk to", &*name, &e))? {
            Some((stdout, stderr)) => Ok(Output { status, stdout, stderr }),
            None => {
                let why = format!("it had not ended after {limit:?} and was killed");
                Err(Error::new(ErrorKind::TimedOut, "run", name, why))
            }
        }
    }

    /// As [`Program::run`], and an exit code other than 0 is an error of kind `Failed` with what it said.
    pub fn check(self, limit: Duration) -> Result<Output> {
        let name = self.name.clone();
        let output = self.run(limit)?;
        if output.success() {
            return Ok(output);
        }
        let said = if output.stderr.trim().is_empty() { output.stdout.trim() } else { output.stderr.trim() };
        let why = format!("{}: {}", output.status, if said.is_empty() { "it said nothing" } else { said });
        Err(Error::new(ErrorKind::Failed, "run", name, why))
    }

    /// As [`Program::run`], without holding the caller's thread. Needs a tokio runtime.
    pub async fn output(self, limit: Duration) -> Result<Output> {
        let name = self.name.clone();
        let joined = tokio::task::spawn_blocking(move || self.run(limit)).await;
        joined.unwrap_or_else(|e| Err(Error::new(ErrorKind::Other, "run", name, e.to_string())))
    }

    /// Starts it as our child, with standard input from nowhere and output to ours.
    pub fn spawn(mut self) -> Result<Child> {
        self.command.stdin(Stdio::null());
        self.start()
    }

    /// Starts it as our child, its output to a file that is made or appended to.
    pub fn spawn_logging(mut self, path: &Path) -> Result<Child> {
        let (out, err) = self.log(path)?;
        self.command.stdin(Stdio::null()).stdout(out).stderr(err);
        self.start()
    }

    /// Starts it in a session of its own, its standard streams to nowhere, so that it outlives us and no signal to
    /// our terminal reaches it. While we live its end is noted, so that it leaves no zombie.
    pub fn detach(mut self) -> Result<Process> {
        self.command.stdout(Stdio::null()).stderr(Stdio::null());
        self.start_detached()
    }

    /// As [`Program::detach`], its output to a file that is made or appended to.
    pub fn detach_logging(mut self, path: &Path) -> Result<Process> {
        let (out, err) = self.log(path)?;
        self.command.stdout(out).stderr(err);
        self.start_detached()
    }

    /// Becomes the program: the calling process is replaced, with its streams, its number and its terminal.
    /// Returns only when that fails; the calling thread may be in the program's namespace then.
    pub fn exec(mut self) -> Error {
        if let Some(namespace) = &self.namespace
            && let Err(error) = namespace.enter()
        {
            return error;
        }
        Error::from_io("start", self.name, &self.command.exec())
    }

    fn log(&self, path: &Path) -> Result<(File, File)> {
        let failed = |e: io::Error| Error::from_io("open", path.display().to_string(), &e);
        let out = File::options().create(true).append(true).open(path).map_err(failed)?;
        let err = out.try_clone().map_err(failed)?;
        Ok((out, err))
    }

    #[allow(unsafe_code, reason = "a new session must be made between fork and exec")]
    fn start_detached(mut self) -> Result<Process> {
        self.command.stdin(Stdio::null());
        // SAFETY: setsid is async-signal-safe and takes nothing.
        unsafe { self.command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(io::Error::from)) };
        let name = self.name.clone();
        let Child { mut child, process } = self.start()?;
        let waiter = thread::Builder::new().name(format!("wait-{}", process.pid)).stack_size(64 << 10);
        waiter
            .spawn(move || {
                if let Err(error) = child.wait() {
                    tracing::debug!(%error, "cannot wait for a detached process");
                }
            })
            .map_err(|e| Error::from_io("watch", name, &e))?;
        Ok(process)
    }

    fn start(mut self) -> Result<Child> {
        let started = match &self.namespace {
            // A child is born into the namespace of the thread that starts it.
            Some(namespace) => namespace.run(|| self.command.spawn())?,
            None => self.command.spawn(),
        };
        let mut child = started.map_err(|e| Error::from_io("start", &*self.name, &e))?;
        let pid = child.id() as i32;
        match Process::open(pid) {
            Ok(Some(process)) => Ok(Child { child, process }),
            // Not waited for yet, so the number is its own; only descriptors can be lacking.
            other => {
                let _ = child.kill();
                let _ = child.wait();
                Err(other.err().unwrap_or_else(|| Error::from_errno("start", self.name, Errno::ESRCH as i32)))
            }
        }
    }
}

/// A running child of ours. Dropped, it is left running; after it ends it must be waited for.
#[derive(Debug)]
pub struct Child {
    child: std::process::Child,
    process: Process,
}

impl Child {
    /// The process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        self.process.pid
    }

    /// Ends it ([`Process::terminate`]) and waits for it.
    pub fn stop(mut self, grace: Duration) -> Result<()> {
        self.process.terminate(grace)?;
        self.child.wait().map(drop).map_err(|e| Error::from_io("wait for", self.process.pid.to_string(), &e))
    }

    /// Waits until it ends, at most `limit`: its exit code (`Some(None)` for a signal), `None` when it still runs.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<Option<i32>>> {
        if !self.process.wait_exit(limit) {
            return Ok(None);
        }
        let status = self.child.wait().map_err(|e| Error::from_io("wait for", self.process.pid.to_string(), &e))?;
        Ok(Some(status.code()))
    }

    /// Feeds `input` and reads both outputs until the process ends; `None` at the deadline.
    fn exchange(&mut self, input: Vec<u8>, deadline: Instant) -> io::Result<Option<(String, String)>> {
        let mut stdin = self.child.stdin.take();
        let mut stdout = self.child.stdout.take();
        let mut stderr = self.child.stderr.take();
        for fd in [stdin.as_ref().map(AsFd::as_fd), stdout.as_ref().map(AsFd::as_fd), stderr.as_ref().map(AsFd::as_fd)]
            .into_iter()
            .flatten()
        {
            fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        let (mut out, mut err, mut sent) = (Vec::new(), Vec::new(), 0);
        loop {
            // Looked at before reading: what it wrote before its end is in the pipes then.
            let ended = self.process.wait_exit(Duration::ZERO);
            read_all(&mut stdout, &mut out)?;
            read_all(&mut stderr, &mut err)?;
            if ended {
                let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                return Ok(Some((text(out), text(err))));
            }
            write_some(&mut stdin, &input, &mut sent)?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.wait_ready(&stdin, &stdout, &stderr, left)?;
        }
    }

    fn wait_ready(
        &self,
        stdin: &Option<impl AsFd>,
        stdout: &Option<impl AsFd>,
        stderr: &Option<impl AsFd>,
        limit: Duration,
    ) -> io::Result<()> {
        let mut fds = vec![PollFd::new(self.process.fd.as_fd(), PollFlags::POLLIN)];
        fds.extend(stdin.as_ref().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLOUT)));
        fds.extend(stdout.as_ref().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)));
        fds.extend(stderr.as_ref().map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN)));
        let milliseconds = limit.as_millis().clamp(1, i32::MAX as u128) as i32;
        match poll(&mut fds, PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Reads what is there; at the end of the stream the pipe is dropped.
fn read_all(pipe: &mut Option<impl Read>, into: &mut Vec<u8>) -> io::Result<()> {
    let mut chunk = [0; 16 << 10];
    while let Some(open) = pipe {
        match open.read(&mut chunk) {
            Ok(0) => *pipe = None,
            Ok(n) => {
                let room = OUTPUT_LIMIT.saturating_sub(into.len()).min(n);
                into.extend_from_slice(&chunk[..room]);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Writes what fits; when all is written, or nobody reads, the pipe is dropped.
fn write_some(pipe: &mut Option<impl Write>, input: &[u8], sent: &mut usize) -> io::Result<()> {
    while let Some(open) = pipe {
        if *sent == input.len() {
            *pipe = None;
            break;
        }
        match open.write(&input[*sent..]) {
            Ok(n) => *sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => *pipe = None,
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
