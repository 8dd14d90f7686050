//! How each server is started: its command line and its configuration.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use generator::NullRpc;
use model::Failure;
use nix::unistd::geteuid;

use super::Placed;
use super::guard::Work;
use crate::target::Target;

/// Where programs are that are not in every user's PATH.
const SYSTEM_PATHS: &str = "/usr/sbin:/usr/local/sbin:/sbin";
/// Bytes of the page that web servers serve: with usual headers the 849 bytes of Tales section 3.1.3.
const PAGE_BYTES: usize = 612;
/// The user and group without rights, on every Linux.
const NOBODY: u32 = 65_534;
/// Threads of a process of Apache.
const APACHE_THREADS: u32 = 64;
/// Files that a server opens beside its connections.
const OTHER_FILES: u32 = 256;

/// A server that can be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The null RPC server of Tales section 3.1.1, part of this program.
    NullRpc,
    /// Memcached.
    Memcached,
    /// Nginx.
    Nginx,
    /// Apache with threads.
    Apache2,
    /// Redis.
    Redis,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] =
        [Kind::NullRpc, Kind::Memcached, Kind::Nginx, Kind::Apache2, Kind::Redis];

    /// The name on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Kind::NullRpc => "null-rpc",
            Kind::Memcached => "memcached",
            Kind::Nginx => "nginx",
            Kind::Apache2 => "apache2",
            Kind::Redis => "redis",
        }
    }

    /// The target that stands for none.
    pub fn usual_target(self) -> &'static str {
        match self {
            Kind::NullRpc => "null-rpc://127.0.0.1:0",
            Kind::Memcached => "memcached://127.0.0.1:0",
            Kind::Nginx | Kind::Apache2 => "http://127.0.0.1:0/index.html",
            Kind::Redis => "redis://127.0.0.1:0",
        }
    }

    /// (Program, Debian package).
    fn program(self) -> Option<(&'static str, &'static str)> {
        match self {
            Kind::NullRpc => None,
            Kind::Memcached => Some(("memcached", "memcached")),
            Kind::Nginx => Some(("nginx", "nginx-light")),
            Kind::Apache2 => Some(("apache2", "apache2-bin")),
            Kind::Redis => Some(("redis-server", "redis-server")),
        }
    }

    /// Where it will listen, if it speaks the target's protocol and can be there.
    pub fn check(self, target: &Target) -> Result<SocketAddr, Failure> {
        let scheme = target.scheme.split('+').next().unwrap_or_default();
        let own = self.usual_target().split("://").next().unwrap_or_default();
        if scheme != own {
            return Err(Failure::Input(format!(
                "--start {}: it does not speak `{}`; expected a target such as {}",
                self.word(),
                target.scheme,
                self.usual_target()
            )));
        }
        let address = target.address.ip().filter(|at| at.ip() == Ipv4Addr::LOCALHOST);
        address.ok_or_else(|| {
            let (word, at) = (self.word(), &target.address);
            Failure::Input(format!(
                "--start {word}: it is started on 127.0.0.1, and the target is {at}"
            ))
        })
    }

    /// How to run it. [`Failure::Machine`] where it is not installed.
    pub fn recipe(
        self,
        port: u16,
        datagrams: bool,
        placed: &Placed,
        lengths: Option<NullRpc>,
    ) -> Result<Work, Failure> {
        let Some((program, package)) = self.program() else {
            let NullRpc { request_bytes, response_bytes } =
                lengths.expect("its target has lengths");
            return Ok(Work::NullRpc { port, request_bytes, response_bytes });
        };
        let program = find(program).ok_or_else(|| {
            Failure::Machine(format!(
                "{program} is not installed: `sudo apt-get install {package}` on Debian installs it"
            ))
        })?;
        let threads = placed.cpus.len().max(1);
        let connections = placed.connections + OTHER_FILES;
        let (arguments, files) = match self {
            Kind::NullRpc | Kind::Memcached => memcached(port, datagrams, threads, connections),
            Kind::Nginx => nginx(port, threads, connections),
            Kind::Apache2 => apache(port, connections),
            Kind::Redis => redis(port, connections),
        };
        let command = std::iter::once(program).chain(arguments).collect();
        // The others change to it by themselves. A server without a password would do as root what any local
        // user tells it: Redis writes files.
        let user = (self == Kind::Redis && geteuid().is_root()).then_some(NOBODY);
        Ok(Work::Program { command, files, user })
    }
}

type Recipe = (Vec<String>, Vec<(String, String)>);

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

fn memcached(port: u16, datagrams: bool, threads: usize, connections: u32) -> Recipe {
    let udp = if datagrams { port } else { 0 };
    // As root it insists on another user.
    let user = if geteuid().is_root() { "-u nobody" } else { "" };
    let line = format!(
        "-l 127.0.0.1 -p {port} -U {udp} -t {threads} -c {connections} -m 1024 -R 1000 {user}"
    );
    (words(&line), Vec::new())
}

fn redis(port: u16, connections: u32) -> Recipe {
    let line = format!(
        "--bind 127.0.0.1 --port {port} --maxclients {connections} --appendonly no --daemonize no --dir {{folder}} --save"
    );
    let mut arguments = words(&line);
    // No snapshots.
    arguments.push(String::new());
    (arguments, Vec::new())
}

fn nginx(port: u16, workers: usize, connections: u32) -> Recipe {
    let user = if geteuid().is_root() { "user nobody nogroup;" } else { "" };
    let configuration = format!(
        "daemon off;\n{user}\nworker_processes {workers};\nworker_rlimit_nofile {files};\npid {{folder}}/pid;\n\
         error_log stderr warn;\nevents {{ worker_connections {connections}; }}\n\
         http {{\n access_log off;\n keepalive_requests 1000000000;\n keepalive_timeout 1d;\n default_type text/html;\n\
         client_body_temp_path {{folder}}/body;\n proxy_temp_path {{folder}}/proxy;\n fastcgi_temp_path {{folder}}/fastcgi;\n\
         uwsgi_temp_path {{folder}}/uwsgi;\n scgi_temp_path {{folder}}/scgi;\n\
         server {{ listen 127.0.0.1:{port}; root {{folder}}/www; }}\n}}\n",
        files = connections * 2,
    );
    let arguments = words("-p {folder} -e stderr -c {folder}/nginx.conf");
    (arguments, vec![("nginx.conf".to_string(), configuration), page()])
}

fn apache(port: u16, connections: u32) -> Recipe {
    let user = if geteuid().is_root() { "User nobody\nGroup nogroup\n" } else { "" };
    let processes = connections.div_ceil(APACHE_THREADS);
    let threads = processes * APACHE_THREADS;
    let modules = "/usr/lib/apache2/modules";
    let configuration = format!(
        "ServerRoot {{folder}}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {{folder}}/pid\nErrorLog /dev/stderr\n{user}\
         LoadModule mpm_worker_module {modules}/mod_mpm_worker.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\n\
         ServerLimit {processes}\nStartServers {processes}\nThreadsPerChild {APACHE_THREADS}\nMaxRequestWorkers {threads}\n\
         MinSpareThreads 1\nMaxSpareThreads {threads}\nKeepAlive On\nMaxKeepAliveRequests 0\nKeepAliveTimeout 3600\n\
         DocumentRoot {{folder}}/www\n<Directory {{folder}}/www>\nRequire all granted\n</Directory>\n"
    );
    let arguments = words("-DFOREGROUND -d {folder} -f {folder}/apache2.conf");
    (arguments, vec![("apache2.conf".to_string(), configuration), page()])
}

fn page() -> (String, String) {
    ("www/index.html".to_string(), "x".repeat(PAGE_BYTES))
}

/// The program's path.
fn find(program: &str) -> Option<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let folders = path.split(':').chain(SYSTEM_PATHS.split(':'));
    let mut candidates = folders.map(|folder| Path::new(folder).join(program));
    candidates.find(|path| path.is_file()).map(|path| path.display().to_string())
}
