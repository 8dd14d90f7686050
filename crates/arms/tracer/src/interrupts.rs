//! Interrupts by number, and the devices that raise them.

use std::fs;
use std::path::Path;

use model::printable;

/// Classes of devices whose names people know: `eth0`, `nvme0n1`.
const CLASSES: [&str; 2] = ["net", "block"];
/// Bytes of a list of devices at most, which share an interrupt.
const LONGEST: usize = 256;

/// ` virtio0-input.0 (eth0)`: what the drivers called an interrupt when they asked for it, and the network
/// interface or the disk where that name has none. `sys` is `/sys`, `proc` is `/proc`, but in tests.
pub(super) fn device(interrupt: u32, sys: &Path, proc: &Path) -> String {
    let Some(actions) = actions(interrupt, sys).or_else(|| listed(interrupt, proc)) else {
        return String::new();
    };
    let name = known_as(&actions, sys).filter(|name| !actions.contains(name.as_str()));
    let name = name.map_or(String::new(), |name| format!(" ({name})"));
    format!(
        " {}{}",
        printable(&actions.chars().take(LONGEST).collect::<String>()),
        printable(&name)
    )
}

/// Documentation/ABI/testing/sysfs-kernel-irq: names of all that share it, with a comma between them.
fn actions(interrupt: u32, sys: &Path) -> Option<String> {
    let text = fs::read_to_string(sys.join(format!("kernel/irq/{interrupt}/actions"))).ok()?;
    let actions = text.trim().replace(',', ", ");
    (!actions.is_empty()).then_some(actions)
}

/// Where /sys is not mounted: the last word of its line in /proc/interrupts.
fn listed(interrupt: u32, proc: &Path) -> Option<String> {
    let text = fs::read_to_string(proc.join("interrupts")).unwrap_or_default();
    let own = |line: &&str| line.trim_start().starts_with(&format!("{interrupt}:"));
    text.lines().find(own)?.split_whitespace().last().map(String::from)
}

/// The interface or the disk of a driver's name that has the device's address on its bus in it: `virtio0` at
/// its beginning, or `0000:03:00.0` behind `pci:`.
fn known_as(actions: &str, sys: &Path) -> Option<String> {
    let (bus, address) = match actions.split_once("@pci:") {
        Some((_, address)) => ("pci", address),
        None => ("virtio", actions.split_once('-')?.0),
    };
    let is_address = |b: u8| b.is_ascii_alphanumeric() || b == b':' || b == b'.';
    if !address.bytes().all(is_address) || address.contains("..") {
        return None;
    }
    let device = sys.join("bus").join(bus).join("devices").join(address);
    CLASSES.iter().find_map(|class| only_entry(&device.join(class)))
}

/// The name in a folder that has one: of two ports nothing says whose interrupt it is.
fn only_entry(folder: &Path) -> Option<String> {
    let mut entries = fs::read_dir(folder).ok()?.flatten();
    let only = entries.next().filter(|_| entries.next().is_none())?;
    only.file_name().into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with files in it; what has no text is a folder.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(entries: &[(&str, &str)]) -> Tree {
            let root = tempfile::tempdir().expect("a folder");
            for (path, text) in entries {
                let path = root.path().join(path);
                let folder = if text.is_empty() { &path } else { path.parent().expect("a folder") };
                fs::create_dir_all(folder).expect("ours");
                if !text.is_empty() {
                    fs::write(&path, text).expect("ours");
                }
            }
            Tree(root)
        }

        fn device(&self, interrupt: u32) -> String {
            device(interrupt, &self.0.path().join("sys"), &self.0.path().join("proc"))
        }
    }

    #[test]
    fn an_interrupt_has_the_name_of_its_device() {
        let tree = Tree::new(&[
            ("sys/kernel/irq/25/actions", "virtio0-input.0\n"),
            ("sys/kernel/irq/26/actions", "virtio1-req.0\n"),
            ("sys/kernel/irq/27/actions", "mlx5_comp3@pci:0000:03:00.0\n"),
            ("sys/kernel/irq/28/actions", "eth0-TxRx-0\n"),
            ("sys/kernel/irq/16/actions", "ehci_hcd:usb1,i801_smbus\n"),
            ("sys/kernel/irq/30/actions", "\n"),
            ("sys/kernel/irq/31/actions", "virtio2-input.0\n"),
            ("sys/bus/virtio/devices/virtio0/net/eth0", ""),
            ("sys/bus/virtio/devices/virtio1/block/vda", ""),
            ("sys/bus/virtio/devices/virtio2/net/a", ""),
            ("sys/bus/virtio/devices/virtio2/net/b", ""),
            ("sys/bus/pci/devices/0000:03:00.0/net/ens3", ""),
            ("proc/interrupts", "  9:  0  1  IO-APIC  9-fasteoi  acpi\n 30: 1\n"),
        ]);
        let all = [25, 26, 27, 28, 16, 9, 31, 99].map(|interrupt| tree.device(interrupt));
        let expected = [
            " virtio0-input.0 (eth0)",
            " virtio1-req.0 (vda)",
            " mlx5_comp3@pci:0000:03:00.0 (ens3)",
            " eth0-TxRx-0",
            " ehci_hcd:usb1, i801_smbus",
            " acpi",
            " virtio2-input.0",
            "",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_drivers_name_leads_nowhere_else_and_moves_no_terminal() {
        let tree = Tree::new(&[
            ("sys/kernel/irq/1/actions", "x@pci:../../../secret\n"),
            ("sys/kernel/irq/2/actions", "a\u{1b}[2J-b\n"),
            ("sys/bus/pci/devices/x", ""),
            ("sys/secret/net/eth9", ""),
        ]);
        assert_eq!(tree.device(1), " x@pci:../../../secret");
        assert_eq!(tree.device(2), " a?[2J-b");
    }
}
