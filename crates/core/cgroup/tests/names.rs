//! Cgroups by name, from folders that are laid out as the runtimes lay them out.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use cgroup::name;
use tempfile::TempDir;

const ID: &str = "3f2a91c0b7de5a64c81f0e9d7b35a2c4e6f80912345678abcdef0123456789ab";
const OTHER: &str = "aa2a91c0b7de5a64c81f0e9d7b35a2c4e6f80912345678abcdef0123456789ab";
const UID: &str = "0a1b2c3d-1111-2222-3333-445566778899";

const DOCKER: &str = "var/lib/docker/containers/ID/config.v2.json";
const CONTAINERD: &str = "run/containerd/io.containerd.runtime.v2.task/k8s.io/ID/config.json";
const CRIO: &str = "run/containers/storage/overlay-containers/ID/userdata/config.json";
const STORAGE: &str = "var/lib/containers/storage/overlay-containers";

const OF_CONTAINERD: &str = r#"{"ociVersion": "1.1.0", "process": {"env": ["A=b"]}, "annotations": {
    "io.kubernetes.cri.container-name": "web", "io.kubernetes.cri.container-type": "container",
    "io.kubernetes.cri.sandbox-name": "shop-7f9c", "io.kubernetes.cri.sandbox-namespace": "prod"}}"#;
const OF_CRIO: &str = r#"{"annotations": {"io.container.manager": "cri-o",
    "io.kubernetes.container.name": "web", "io.kubernetes.cri-o.ContainerType": "container",
    "io.kubernetes.cri.container-name": "forged", "io.kubernetes.pod.name": "shop-7f9c",
    "io.kubernetes.pod.namespace": "prod"}}"#;
const OF_DOCKER: &str =
    r#"{"StreamConfig": {}, "Name": "/web", "Config": {"Labels": null}, "State": {"Pid": 7}}"#;
const OF_PODMAN: &str = r#"[{"id": "OTHER", "names": ["wrong"]}, {"id": "ID", "names": ["web"]}]"#;

/// A root of files with one file in it; `ID` and `OTHER` stand for ids.
struct Root(TempDir);

impl Root {
    fn empty() -> Root {
        Root(tempfile::tempdir().expect("a folder"))
    }

    fn with(path: &str, text: &str) -> Root {
        let root = Root::empty();
        root.put(path, text);
        root
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(filled(path))
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("ours");
        fs::write(path, filled(text)).expect("ours");
    }

    fn name(&self, cgroup: &str) -> Option<String> {
        name(&filled(cgroup), self.0.path()).map(|name| name.to_string())
    }
}

fn filled(text: &str) -> String {
    text.replace("OTHER", OTHER).replace("ID", ID)
}

fn of_path(cgroup: &str) -> Option<String> {
    Root::empty().name(cgroup)
}

fn pod_slice() -> String {
    let uid = UID.replace('-', "_");
    format!("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{uid}.slice")
}

#[test]
fn a_unit_is_named_by_the_path() {
    let unit = |path: &str| of_path(path);
    assert_eq!(unit("system.slice/nginx.service").as_deref(), Some("unit nginx.service"));
    assert_eq!(unit("/init.scope").as_deref(), Some("unit init.scope"));
    let session = unit("user.slice/user-1000.slice/session-3.scope");
    assert_eq!(session.as_deref(), Some("unit session-3.scope (user 1000)"));
    let of_user = "user.slice/user-1000.slice/user@1000.service/app.slice/app-x.service";
    assert_eq!(unit(of_user).as_deref(), Some("unit app-x.service (user 1000)"));
    for none in ["", "/", "system.slice", "limited", "a/.service", "../../x"] {
        assert_eq!(unit(none), None, "{none}: no process is in it, or nothing says what it is");
    }
}

#[test]
fn a_container_has_the_name_that_its_runtime_keeps() {
    let pod = pod_slice();
    let by_driver = |prefix: &str| format!("{pod}/{prefix}-ID.scope");
    let without_driver = "system.slice/containerd.service/kubepods-pod0a1b2c3d_1111_2222_3333_445566778899.slice:cri-containerd:ID";
    let (web, of_pod) = ("container web", "container web of pod prod/shop-7f9c");
    let list = format!("{STORAGE}/containers.json");
    let volatile = format!("{STORAGE}/volatile-containers.json");
    let cases: &[(&str, &str, &str, &str)] = &[
        ("system.slice/docker-ID.scope", DOCKER, OF_DOCKER, web),
        ("docker/ID", DOCKER, OF_DOCKER, web),
        ("parent/ID", DOCKER, OF_DOCKER, web),
        (&by_driver("cri-containerd"), CONTAINERD, OF_CONTAINERD, of_pod),
        (&format!("kubepods/burstable/pod{UID}/ID"), CONTAINERD, OF_CONTAINERD, of_pod),
        (without_driver, CONTAINERD, OF_CONTAINERD, of_pod),
        (&by_driver("crio"), CRIO, OF_CRIO, of_pod),
        (&format!("kubepods/pod{UID}/crio-ID"), CRIO, OF_CRIO, of_pod),
        ("machine.slice/libpod-ID.scope/container", &list, OF_PODMAN, web),
        ("libpod_parent/libpod-ID", &volatile, OF_PODMAN, web),
        ("system.slice/web.service/libpod-payload-ID", &list, OF_PODMAN, web),
    ];
    for (cgroup, file, text, expected) in cases {
        let told = Root::with(file, text).name(cgroup);
        assert_eq!(told.as_deref(), Some(*expected), "{cgroup}");
        let short = of_path(cgroup).expect("the control: without the file it is an id");
        assert!(short.starts_with("container 3f2a91c0b7de"), "{cgroup}: {short}");
        let other = Root::with(&file.replace("ID", "OTHER"), &text.replace("\"ID\"", "\"x\""));
        assert_eq!(other.name(cgroup), Some(short), "{cgroup}: of another container");
    }
}

#[test]
fn k3s_has_a_folder_of_its_own_and_docker_the_kubelets_labels() {
    let k3s = CONTAINERD.replace("containerd/io", "k3s/containerd/io");
    let cgroup = format!("{}/cri-containerd-ID.scope", pod_slice());
    let of_pod = Some("container web of pod prod/shop-7f9c");
    assert_eq!(Root::with(&k3s, OF_CONTAINERD).name(&cgroup).as_deref(), of_pod);
    let labels = format!(
        r#"{{"Name": "/k8s_web_shop", "Config": {{"Labels": {{"io.kubernetes.container.name": "web",
        "io.kubernetes.pod.name": "shop-7f9c", "io.kubernetes.pod.namespace": "prod",
        "io.kubernetes.pod.uid": "{UID}"}}}}}}"#
    );
    let docker = Root::with(DOCKER, &labels);
    assert_eq!(docker.name(&format!("{}/docker-ID.scope", pod_slice())).as_deref(), of_pod);
    let forged = docker.name("system.slice/docker-ID.scope");
    assert_eq!(forged.as_deref(), Some("container k8s_web_shop"), "any user may write labels");
}

/// A user with cgroups of his own calls them as he likes.
#[test]
fn the_names_of_roots_containers_are_for_no_user() {
    let root = Root::with(DOCKER, OF_DOCKER);
    let user = "user.slice/user-1000.slice/user@1000.service";
    let forged = root.name(&format!("{user}/docker-ID.scope"));
    assert_eq!(forged.as_deref(), Some("container 3f2a91c0b7de (user 1000)"));
    root.put(&format!("var/log/pods/prod_shop_{UID}/x"), "");
    let forged = root.name(&format!("{user}/kubepods/pod{UID}/ID"));
    let by_uid = format!("container 3f2a91c0b7de (user 1000) of pod {UID}");
    assert_eq!(forged, Some(by_uid));
    let of_root = root.name("user.slice/user-0.slice/session-1.scope/libpod-payload-ID");
    assert_eq!(of_root.as_deref(), Some("container web"));
    let inner = root.name("docker/ID/user.slice/user-1000.slice/session-1.scope");
    assert_eq!(inner.as_deref(), Some("unit session-1.scope of container web"), "the control");
}

#[test]
fn a_sandbox_is_its_pod() {
    let text = OF_CONTAINERD.replace("\"container\"", "\"sandbox\"");
    let told =
        Root::with(CONTAINERD, &text).name(&format!("{}/cri-containerd-ID.scope", pod_slice()));
    assert_eq!(told.as_deref(), Some("pod prod/shop-7f9c"));
}

#[test]
fn annotations_of_podmans_users_name_no_pod() {
    let text = OF_CRIO.replace("cri-o\"", "libpod\"");
    let told = Root::with(CRIO, &text).name("machine.slice/libpod-ID.scope");
    assert_eq!(told.as_deref(), Some("container 3f2a91c0b7de"));
}

#[test]
fn a_pod_is_named_by_its_folder_of_logs_and_else_by_its_uid() {
    let cgroup = format!("{}/cri-containerd-ID.scope", pod_slice());
    let root = Root::with(&format!("var/log/pods/prod_shop-7f9c_{UID}/web/0.log"), "");
    let named = "container 3f2a91c0b7de of pod prod/shop-7f9c";
    assert_eq!(root.name(&cgroup).as_deref(), Some(named));
    assert_eq!(root.name(&pod_slice()).as_deref(), Some("pod prod/shop-7f9c"));
    let by_uid = format!("container 3f2a91c0b7de of pod {UID}");
    for folder in ["prod_shop_7f9c_UID", "_shop_UID", "shop_UID", "UID", "prod_shop_UID0"] {
        let folder = format!("var/log/pods/{}/0.log", folder.replace("UID", UID));
        assert_eq!(Root::with(&folder, "").name(&cgroup), Some(by_uid.clone()), "{folder}");
    }
    let of_file = format!("kubepods/pod{}/ID", UID.replace('-', ""));
    assert!(of_path(&of_file).is_some_and(|told| told.contains(" of pod 0a1b2c3d1111")));
    assert_eq!(of_path("kubepods/podium/x.service").as_deref(), Some("unit x.service"));
}

#[test]
fn lxc_and_machines_have_their_names_in_the_path() {
    let told = |path: &str| of_path(path).unwrap_or_default();
    assert_eq!(told("lxc.payload.mail"), "container mail");
    assert_eq!(
        told("lxc.payload.mail/system.slice/exim.service"),
        "unit exim.service of container mail"
    );
    assert_eq!(told("machine.slice/machine-deb12.scope/payload"), "machine deb12");
    assert_eq!(told(r"machine.slice/machine-qemu\x2d1\x2dweb.scope"), "machine qemu-1-web");
    assert_eq!(told(r"machine.slice/machine-a\x2.scope"), r"machine a\x2");
}

#[test]
fn what_is_inside_of_a_container_belongs_to_it() {
    let docker = Root::with(DOCKER, OF_DOCKER);
    let inner = docker.name("system.slice/docker-ID.scope/system.slice/cron.service");
    assert_eq!(inner.as_deref(), Some("unit cron.service of container web"));
    let kind = docker.name(&format!("docker/OTHER/kubelet/kubepods/pod{UID}/ID"));
    assert_eq!(kind.as_deref(), Some(&*format!("container web of pod {UID}")), "the innermost");
}

#[test]
fn what_is_no_id_makes_no_path() {
    let root = Root::with("secret/config.v2.json", OF_DOCKER);
    fs::create_dir_all(root.path("var/lib/docker/containers")).expect("ours");
    let upper = ID.to_uppercase();
    let shorter = &ID[1..];
    for id in ["../../../../secret", "..", "", &upper, shorter, &format!("{ID}0"), "web"] {
        let told = name(&format!("docker/docker-{id}.scope"), root.path("").as_path());
        let told = told.map(|name| name.to_string()).unwrap_or_default();
        assert!(!told.contains("container"), "{id}: {told}");
    }
    assert_eq!(
        of_path("system.slice/crio-conmon-ID.scope").as_deref(),
        Some(&*filled("unit crio-conmon-ID.scope"))
    );
}

#[test]
fn what_is_no_file_of_the_runtimes_says_nothing() {
    let short = Some("container 3f2a91c0b7de");
    let told = |root: &Root| root.name("system.slice/docker-ID.scope");
    let broken = ["", "{", "null", "[]", r#"{"Name": 7}"#, r#"{"Name": ""}"#, r#"{"Config": {}}"#];
    for text in broken {
        assert_eq!(told(&Root::with(DOCKER, text)).as_deref(), short, "{text}");
    }
    let deep = format!(r#"{{"Name": "/web", "State": {}"#, "[".repeat(100_000));
    assert_eq!(told(&Root::with(DOCKER, &deep)).as_deref(), short);
    let huge = |bytes| format!("{OF_DOCKER}{}", " ".repeat(bytes - OF_DOCKER.len()));
    assert_eq!(told(&Root::with(DOCKER, &huge(4 << 20))).as_deref(), Some("container web"));
    assert_eq!(told(&Root::with(DOCKER, &huge((4 << 20) + 1))).as_deref(), short, "too long");
}

#[test]
fn no_link_is_followed_and_no_pipe_waited_for() {
    let root = Root::with("elsewhere", OF_DOCKER);
    let place = root.path(DOCKER);
    fs::create_dir_all(place.parent().expect("a folder")).expect("ours");
    symlink(root.path("elsewhere"), &place).expect("ours");
    let told = || root.name("system.slice/docker-ID.scope");
    assert_eq!(told().as_deref(), Some("container 3f2a91c0b7de"));
    fs::remove_file(&place).expect("ours");
    assert!(pipe(&place), "mkfifo");
    assert_eq!(told().as_deref(), Some("container 3f2a91c0b7de"));
    fs::remove_file(&place).expect("ours");
    root.put(DOCKER, OF_DOCKER);
    assert_eq!(told().as_deref(), Some("container web"), "the control");
}

fn pipe(path: &Path) -> bool {
    std::process::Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success())
}

#[test]
fn a_name_neither_moves_a_terminal_nor_fills_it() {
    let text = r#"{"Name": "/we\u001b[2Jb\u202e"}"#;
    let told = |text: &str| Root::with(DOCKER, text).name("docker/ID").unwrap_or_default();
    assert_eq!(told(text), "container we?[2Jb?");
    let long = told(&format!(r#"{{"Name": "/{}"}}"#, "n".repeat(100_000)));
    assert_eq!(long.len(), "container ".len() + 256);
    assert_eq!(of_path("a\u{1b}.service").as_deref(), Some("unit a?.service"));
}
