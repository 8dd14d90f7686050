//! What the path of a cgroup says by itself.

/// Names of cgroups that hold one container, up to its id. systemd's end in `.scope`, those of the cgroupfs
/// drivers end with the id.
///
/// From: moby `daemon/oci_linux.go` (`docker`), containerd `internal/cri/server/podsandbox/helpers_linux.go`
/// (`cri-containerd`), cri-o `internal/config/cgmgr/cgmgr_linux.go` (`crio`), podman
/// `libpod/container_internal_linux.go` (`libpod`, and `libpod-payload` with `--cgroups=split`).
const CONTAINERS: &[&str] = &["docker-", "cri-containerd-", "crio-", "libpod-payload-", "libpod-"];

/// lxc `src/lxc/cgroups/cgroup.h`: `DEFAULT_PAYLOAD_CGROUP_PREFIX`.
const LXC: &str = "lxc.payload.";

/// systemd `src/machine/machine-dbus.c` and `machine.c`: `machine-` and the escaped name.
const MACHINE: &str = "machine-";

/// Kinds of units that have processes of their own. A slice has none: it is a folder of units.
const UNITS: &[&str] = &[".service", ".scope", ".socket", ".mount", ".swap"];

/// Digits of the ids of all these runtimes.
const ID_DIGITS: usize = 64;

/// What a cgroup is inside of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inside<'a> {
    /// A container, by its id: 64 hexadecimal digits and nothing else.
    Container(&'a str),
    /// A machine, by its name.
    Machine(String),
    /// A container of LXC, whose cgroup has its name.
    Lxc(String),
}

/// The innermost container, the innermost pod, the innermost unit that is inside of both, and the user whose
/// slice all of it is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    pub inside: Option<Inside<'a>>,
    pub pod_uid: Option<String>,
    pub unit: Option<String>,
    pub user: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// What a path says, from the outside inwards.
    pub fn of(path: &'a str) -> Place<'a> {
        let mut place = Place::default();
        for part in path.split('/') {
            if let Some(uid) = pod_uid(part) {
                place = Place { pod_uid: Some(uid), user: place.user, ..Place::default() };
            }
            if let Some(inside) = inside(part) {
                (place.inside, place.unit) = (Some(inside), None);
            } else if let Some(unit) = unit(part) {
                place.unit = Some(with_user(unit, place.user.filter(|_| place.inside.is_none())));
            } else if place.inside.is_none() {
                // A slice inside of a container is of the container's users.
                place.user = place.user.or(user_of(part));
            }
        }
        place
    }
}

fn inside(part: &str) -> Option<Inside<'_>> {
    if let Some(name) = part.strip_prefix(LXC).filter(|name| !name.is_empty()) {
        return Some(Inside::Lxc(name.to_string()));
    }
    let scope = part.strip_suffix(".scope").unwrap_or(part);
    if let Some(name) = scope.strip_prefix(MACHINE).filter(|_| scope.len() < part.len()) {
        return Some(Inside::Machine(unescaped(name)));
    }
    let known = CONTAINERS.iter().find_map(|prefix| scope.strip_prefix(prefix));
    // Without its own cgroup driver containerd leaves runc's `slice:prefix:id` as it is.
    let id = known.or(scope.rsplit_once(':').map(|(_, id)| id)).unwrap_or(scope);
    is_id(id).then_some(Inside::Container(id))
}

/// Nothing else becomes a part of a path.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == ID_DIGITS && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// kubernetes `pkg/kubelet/cm/pod_container_manager_linux.go`: `pod` and its UID; as a unit
/// (`cgroup_manager_linux.go`) behind its slices' names, with `_` for `-`.
fn pod_uid(part: &str) -> Option<String> {
    let slice = part.split(':').next().and_then(|slice| slice.strip_suffix(".slice"));
    let uid = match slice.filter(|slice| slice.contains("kubepods")) {
        Some(slice) => slice.rsplit_once("-pod")?.1,
        None => part.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    let is_uid = uid.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f' | b'-'));
    // Pods of files have a hash: `pkg/kubelet/config/common.go`.
    (is_uid && matches!(uid.len(), 32 | 36)).then_some(uid)
}

fn unit(part: &str) -> Option<&str> {
    // `systemd.unit(5)`: a name, and its kind.
    UNITS.iter().any(|kind| part.len() > kind.len() && part.ends_with(kind)).then_some(part)
}

fn user_of(part: &str) -> Option<&str> {
    let user = part.strip_prefix("user-")?.strip_suffix(".slice")?;
    user.bytes().all(|b| b.is_ascii_digit()).then_some(user)
}

fn with_user(unit: &str, user: Option<&str>) -> String {
    user.map_or(unit.to_string(), |user| format!("{unit} (user {user})"))
}

/// Each `\xNN` as the byte that it stands for, as `systemd-escape` wrote it. What is none stays.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let digits = rest.strip_prefix(b"\\x").and_then(|digits| digits.get(..2));
        let byte =
            digits.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &rest[4..] } else { more };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
