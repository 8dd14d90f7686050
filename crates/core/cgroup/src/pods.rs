//! Names of pods that the kubelet keeps as folders.

use std::fs;
use std::path::Path;

use crate::name::Pod;

/// kubernetes `pkg/kubelet/kuberuntime/helpers.go`: `BuildPodLogsDirectory`, a folder a pod, which is called
/// `NAMESPACE_NAME_UID`.
const LOGS: &str = "var/log/pods";

/// Pods of a machine at most: the kubelet has 110 where it is not told otherwise.
const MOST_PODS: usize = 10_000;

/// The pod of a UID, by the name of its folder. Its containers have folders in there by their names, and no
/// id says which is which.
pub(crate) fn by_uid(uid: &str, root: &Path) -> Option<Pod> {
    let entries = fs::read_dir(root.join(LOGS)).ok()?.take(MOST_PODS).flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.find_map(|name| named(&name, uid))
}

/// Namespaces and names of pods have no `_` in them (RFC 1123).
fn named(folder: &str, uid: &str) -> Option<Pod> {
    let (namespace, name) = folder.strip_suffix(uid)?.strip_suffix('_')?.split_once('_')?;
    let is_pod = !namespace.is_empty() && !name.is_empty() && !name.contains('_');
    is_pod.then(|| Pod::Named { namespace: namespace.to_string(), name: name.to_string() })
}
