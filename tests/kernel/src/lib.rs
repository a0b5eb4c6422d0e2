//! Another kernel for tests that need what the machine's own lacks: 802.1Q, the Open vSwitch datapath, netem…
//!
//! Debian's `user-mode-linux` runs as an ordinary program, boots on this machine's own root directory in a few seconds,
//! and has its modules beside it. The root is mounted read-only; `/run` is the inside's own, and `TMPDIR` is in there.
//! So a test binary can run itself again inside:
//!
//! ```ignore
//! #[test]
//! fn vlans_are_tagged() {
//!     if kernel::inside() {
//!         return tag_vlans();
//!     }
//!     kernel::Uml::new(&["8021q", "bridge", "veth"]).run_test("vlans_are_tagged");
//! }
//! ```
//!
//! Where the program is missing a test fails, and says what to install: a test that silently does nothing proves nothing.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use linux::Program;

/// Set inside.
const INSIDE: &str = "NEUTRINO_INSIDE_UML";
/// The line by which the inside says how it ended.
const ENDED: &str = "uml: ended with ";
const MISSING: &str = "user-mode-linux is missing: install it (`apt-get install user-mode-linux`; `make test` does)";

/// Whether this process runs in the other kernel.
pub fn inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// The other kernel, to be booted for one program.
#[derive(Debug, Clone)]
pub struct Uml {
    modules: Vec<String>,
    memory: u32,
    limit: Duration,
}

impl Uml {
    /// With modules, and what they need, loaded.
    pub fn new(modules: &[&str]) -> Self {
        let modules = modules.iter().map(|name| (*name).to_owned()).collect();
        Self { modules, memory: 384, limit: Duration::from_secs(180) }
    }

    /// Memory in MiB, instead of 384.
    pub fn memory(mut self, mebibytes: u32) -> Self {
        self.memory = mebibytes;
        self
    }

    /// How long it may take from boot to end, instead of three minutes.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs one test of the calling test binary inside. The test tells by [`inside`] where it is.
    ///
    /// # Panics
    /// When the test fails inside, with what it printed; when the program is missing or does not end in time.
    #[track_caller]
    pub fn run_test(&self, name: &str) {
        let binary = std::env::current_exe().expect("the path of this test");
        let output = self.run(&binary, &["--exact", name, "--nocapture", "--test-threads", "1"]);
        assert!(output.code == Some(0), "{name} failed in user-mode Linux:\n{}", output.text);
        assert!(output.text.contains("1 passed"), "there is no test {name}:\n{}", output.text);
        println!("{}", output.text);
    }

    /// Boots, runs a program as root, and powers off.
    ///
    /// # Panics
    /// When the program is missing or does not end in time.
    #[track_caller]
    pub fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        let kernel = find_kernel().expect(MISSING);
        let directory = tempfile::Builder::new().prefix("uml-").tempdir().expect("a temporary directory");
        let init = directory.path().join("init");
        fs::write(&init, self.init(program, arguments)).expect("the init script");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&init, mode).expect("an executable init script");
        let boot = Program::new(&kernel)
            .args(["rootfstype=hostfs", "rootflags=/", "ro", "con=null", "con0=null,fd:1", "ssl=null", "quiet"])
            .arg("panic=-1")
            .arg(format!("mem={}M", self.memory))
            .arg(format!("init={}", init.display()))
            .arg(format!("uml_dir={}", directory.path().display()));
        let said = boot.run(self.limit).expect("user-mode Linux runs and ends in time").stdout.replace('\r', "");
        let code = said.lines().rev().find_map(|line| line.strip_prefix(ENDED)?.trim().parse().ok());
        Output { code, text: said }
    }

    fn init(&self, program: &Path, arguments: &[&str]) -> String {
        let mut script = String::from(
            "#!/bin/sh\n\
             export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n\
             mount -t proc proc /proc\n\
             mount -t sysfs sysfs /sys\n\
             mount -t tmpfs tmpfs /run\n\
             mkdir -p /run/tmp /run/netns\n\
             export TMPDIR=/run/tmp HOME=/run/tmp\n",
        );
        script += &format!("export {INSIDE}=1\n");
        for module in self.load_order() {
            script += &format!("insmod {} || echo 'uml: no module {}'\n", quote(&module), module.display());
        }
        // Where this is a module of its own, it has been loaded; otherwise the line does nothing.
        script += "ip link set lo up\n";
        script += &quote(program);
        for argument in arguments {
            script += &format!(" {}", quote(Path::new(argument)));
        }
        script += &format!("\necho \"{ENDED}$?\"\necho o > /proc/sysrq-trigger\nsleep 60\n");
        script
    }

    /// Files of the modules, those that others need first.
    fn load_order(&self) -> Vec<PathBuf> {
        let directory = modules_directory().expect(MISSING);
        let table = fs::read_to_string(directory.join("modules.dep")).expect("the table of modules");
        let mut needs: BTreeMap<&str, (&str, Vec<&str>)> = BTreeMap::new();
        for line in table.lines() {
            let Some((file, others)) = line.split_once(':') else { continue };
            needs.insert(module_name(file), (file, others.split_whitespace().collect()));
        }
        let mut order: Vec<&str> = Vec::new();
        for module in &self.modules {
            // What is built in has no file.
            let Some((file, others)) = needs.get(module.as_str()) else { continue };
            // The table lists the nearest need first.
            for file in others.iter().rev().chain([file]) {
                if !order.contains(file) {
                    order.push(file);
                }
            }
        }
        order.into_iter().map(|file| directory.join(file)).collect()
    }
}

/// How a program ended inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its exit code; `None` when the kernel did not get so far.
    pub code: Option<i32>,
    /// All that was printed, by the kernel too.
    pub text: String,
}

fn find_kernel() -> Option<PathBuf> {
    ["/usr/bin/linux.uml", "/usr/bin/linux"].into_iter().map(PathBuf::from).find(|path| path.exists())
}

fn modules_directory() -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> =
        fs::read_dir("/usr/lib/uml/modules").ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    versions.sort();
    versions.pop()
}

/// `kernel/net/8021q/8021q.ko` is the module `8021q`.
fn module_name(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.split(".ko").next().unwrap_or(name)
}

fn quote(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
