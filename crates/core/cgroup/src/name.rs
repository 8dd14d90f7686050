//! The name of a cgroup.

use std::fmt;

use model::printable;

/// The longest name of a part. Kubernetes allows 253 bytes, units have 255.
const LONGEST: usize = 256;

/// What a cgroup is. A unit beside a container is one of the container's own systemd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Name {
    /// The systemd unit: `nginx.service`, `session-3.scope (user 1000)`.
    pub unit: Option<String>,
    /// The container by its name, or by the first 12 digits of its id.
    pub container: Option<String>,
    /// The pod that the container is in.
    pub pod: Option<Pod>,
    /// The machine, as `machinectl` lists it: a container of systemd-nspawn, or a virtual machine.
    pub machine: Option<String>,
}

/// A pod of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pod {
    /// By its name.
    Named {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// By its UID, where no file tells its name.
    Uid(String),
}

impl Name {
    /// Whether more is known than the path says to a reader: a container, a pod or a machine.
    pub fn is_contained(&self) -> bool {
        self.container.is_some() || self.pod.is_some() || self.machine.is_some()
    }

    /// What others chose is data: bounded, and without what moves a terminal.
    pub(crate) fn printable(mut self) -> Name {
        let pod = self.pod.iter_mut().flat_map(|pod| match pod {
            Pod::Named { namespace, name } => vec![namespace, name],
            Pod::Uid(uid) => vec![uid],
        });
        let own = [&mut self.unit, &mut self.container, &mut self.machine];
        let all = own.into_iter().flatten().chain(pod);
        all.for_each(|text| *text = printable(&text.chars().take(LONGEST).collect::<String>()));
        self
    }
}

impl fmt::Display for Pod {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Pod::Named { namespace, name } => write!(out, "{namespace}/{name}"),
            Pod::Uid(uid) => out.write_str(uid),
        }
    }
}

/// `unit nginx.service`, `container web of pod prod/shop-7f9c`.
impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let part =
            |what: &str, name: &Option<String>| name.as_ref().map(|name| format!("{what} {name}"));
        let pod = self.pod.as_ref().map(|pod| format!("pod {pod}"));
        let unit = part("unit", &self.unit);
        let parts = [unit, part("container", &self.container), pod, part("machine", &self.machine)];
        let known: Vec<String> = parts.into_iter().flatten().collect();
        out.write_str(&known.join(" of "))
    }
}
