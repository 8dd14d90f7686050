//! What container runtimes keep of a container in files of their own.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::name::{Name, Pod};

/// Bytes of what is kept of one container at most: its variables and mounts are in it.
const LONGEST_CONFIG: u64 = 4 << 20;
/// Bytes of a list of all containers at most, some kibibyte each.
const LONGEST_LIST: u64 = 16 << 20;

/// moby `container/container.go` (`configFileName`, below `/var/lib/docker/containers`).
const DOCKER: &str = "var/lib/docker/containers";

/// containerd `core/runtime/v2/bundle.go`: below the state folder of the plugin, by namespace and id. The
/// kubelet's containers have the namespace `k8s.io` (`internal/cri/constants`). k3s and RKE2 have their own
/// state folder (k3s `pkg/agent/config/config_linux.go`).
const CONTAINERD: [&str; 2] = [
    "run/containerd/io.containerd.runtime.v2.task/k8s.io",
    "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io",
];

/// cri-o `server/container_create.go` writes it (`containerInfo.RunDir`), below the run root of
/// containers/storage.
const CONTAINERS_RUN: &str = "run/containers/storage/overlay-containers";

/// containers/storage `containers.go`: lists of all containers in the graph root.
const CONTAINERS_LISTS: [&str; 2] = [
    "var/lib/containers/storage/overlay-containers/containers.json",
    "var/lib/containers/storage/overlay-containers/volatile-containers.json",
];

/// What is said of a container with this id, which was checked, in a pod of this UID, if it is in one. Names
/// are those of the one runtime that has a file of the id.
pub(crate) fn look_up(id: &str, pod_uid: Option<&str>, root: &Path) -> Option<Name> {
    let of_containerd = |state: &&str| containerd(&root.join(state).join(id));
    docker(&root.join(DOCKER).join(id), pod_uid)
        .or_else(|| CONTAINERD.iter().find_map(of_containerd))
        .or_else(|| crio(&root.join(CONTAINERS_RUN).join(id).join("userdata")))
        .or_else(|| CONTAINERS_LISTS.iter().find_map(|list| podman(&root.join(list), id)))
}

type Texts = BTreeMap<String, String>;

/// The keys of one runtime for a container, its pod, the pod's namespace, and what the container is for.
/// Others in the same file may be a user's own.
struct Keys {
    container: &'static str,
    pod: &'static str,
    namespace: &'static str,
    kind: &'static str,
}

/// containerd `internal/cri/annotations/annotations.go`.
const CONTAINERD_KEYS: Keys = Keys {
    container: "io.kubernetes.cri.container-name",
    pod: "io.kubernetes.cri.sandbox-name",
    namespace: "io.kubernetes.cri.sandbox-namespace",
    kind: "io.kubernetes.cri.container-type",
};

/// The kubelet's labels (kubernetes `staging/src/k8s.io/kubelet/pkg/types/labels.go`). CRI-O writes them
/// after its user's annotations (`internal/factory/container/container.go`), beside its type of the container
/// (`pkg/annotations/internal.go`).
const KUBELET_KEYS: Keys = Keys {
    container: "io.kubernetes.container.name",
    pod: "io.kubernetes.pod.name",
    namespace: "io.kubernetes.pod.namespace",
    kind: "io.kubernetes.cri-o.ContainerType",
};

/// The kubelet's label that has the UID of a pod.
const POD_UID: &str = "io.kubernetes.pod.uid";

impl Keys {
    /// A container of a pod, or the pod itself: its sandbox holds namespaces and has no name of its own.
    fn name(&self, texts: &Texts) -> Option<Name> {
        let of = |key: &str| texts.get(key).filter(|text| !text.is_empty()).cloned();
        let pod = of(self.pod).zip(of(self.namespace));
        let pod = pod.map(|(name, namespace)| Pod::Named { namespace, name })?;
        let is_sandbox = of(self.kind).is_some_and(|kind| kind == "sandbox");
        let container = of(self.container).filter(|name| !is_sandbox && name != "POD");
        Some(Name { container, pod: Some(pod), ..Name::default() })
    }
}

fn docker(folder: &Path, pod_uid: Option<&str>) -> Option<Name> {
    /// moby `container/container.go`: `Container`, and `Config` of the API.
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Stored {
        name: String,
        config: Option<Config>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Config {
        labels: Option<Texts>,
    }
    let stored: Stored = read(&folder.join("config.v2.json"), LONGEST_CONFIG)?;
    let labels = stored.config.and_then(|config| config.labels).unwrap_or_default();
    // Any user of docker may write labels: they count in a cgroup of the pod that they name.
    let is_pods = pod_uid.is_some() && labels.get(POD_UID).map(String::as_str) == pod_uid;
    let of_pod = is_pods.then(|| KUBELET_KEYS.name(&labels)).flatten();
    of_pod.or_else(|| container(stored.name.trim_start_matches('/')))
}

/// An OCI bundle's `config.json`: of it the annotations.
#[derive(Deserialize)]
struct Spec {
    annotations: Texts,
}

fn containerd(bundle: &Path) -> Option<Name> {
    let spec: Spec = read(&bundle.join("config.json"), LONGEST_CONFIG)?;
    CONTAINERD_KEYS.name(&spec.annotations)
}

/// A file of another manager in this place has annotations of its users. podman's stands in the graph root.
fn crio(userdata: &Path) -> Option<Name> {
    let spec: Spec = read(&userdata.join("config.json"), LONGEST_CONFIG)?;
    let is_crio = spec.annotations.get("io.container.manager").is_some_and(|by| by == "cri-o");
    is_crio.then(|| KUBELET_KEYS.name(&spec.annotations)).flatten()
}

/// The first name in a list of containers/storage.
fn podman(list: &Path, id: &str) -> Option<Name> {
    /// containers/storage `containers.go`: `Container`.
    #[derive(Deserialize)]
    struct Listed {
        id: String,
        names: Option<Vec<String>>,
    }
    let all: Vec<Listed> = read(list, LONGEST_LIST)?;
    container(all.into_iter().find(|one| one.id == id)?.names?.first()?)
}

fn container(name: &str) -> Option<Name> {
    let is_name = !name.is_empty();
    is_name.then(|| Name { container: Some(name.to_string()), ..Name::default() })
}

/// What is not there, is not ours to read, is a link, too long or no such JSON says nothing.
fn read<T: DeserializeOwned>(path: &Path, most: u64) -> Option<T> {
    serde_json::from_slice(&fileio::regular(path, most).ok()?).ok()
}
