//! KVM where it truly boots a stock kernel: nested hosts often have the device and hang in the boot stub.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use model::Failure;
use model::scenario::Machine;
use nix::sys::utsname::uname;

use super::{Guest, Running, version};
use crate::guest::order::Order;
use crate::image;
use crate::run::{LOOK, Watcher};
use crate::store::{Kernel, Lab};
use crate::wire::Frame;

/// How virtual CPUs run without KVM and without counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealTime {
    /// Each in a thread of QEMU's: true races. At times one executes code that the kernel has just patched
    /// and dies of an `int3`.
    Parallel,
    /// One after the other, each for up to 100 ms.
    ByTurns,
}

/// How a guest's instructions run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// By the processor.
    Kvm,
    /// By QEMU, one virtual CPU after the other; an instruction takes 2^`shift` ns of guest time.
    Tcg {
        /// 0: a nanosecond.
        shift: u8,
    },
    /// By QEMU, in real time.
    RealTime(RealTime),
}

/// What KVM is reached by.
const DEVICE: &str = "/dev/kvm";
/// A boot under KVM takes a second or two; one that takes this long has hung.
const PATIENCE: Duration = Duration::from_secs(10);
const MEMORY_MIB: u32 = 512;

impl Accelerator {
    /// What stands in for KVM: an instruction a nanosecond.
    pub const COUNTED: Accelerator = Accelerator::Tcg { shift: 0 };

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "KVM",
            Accelerator::Tcg { .. } => "TCG",
            Accelerator::RealTime(_) => "TCG in real time",
        }
    }

    /// Latency under TCG with several threads is worthless. With one, guest time is the instructions
    /// executed, so the host's load does not enter, and idle time is skipped.
    pub fn arguments(self) -> String {
        match self {
            Accelerator::Kvm => "-accel kvm".to_string(),
            Accelerator::RealTime(RealTime::Parallel) => "-accel tcg,thread=multi".to_string(),
            Accelerator::RealTime(RealTime::ByTurns) => "-accel tcg,thread=single".to_string(),
            Accelerator::Tcg { shift } => {
                format!("-accel tcg,thread=single -icount shift={shift},sleep=off")
            }
        }
    }
}

/// The accelerator for this machine. The first time it boots the kernel under KVM to see; the answer is kept
/// in the lab.
pub fn choose(lab: &Lab, kernel: &Kernel, watcher: &dyn Watcher) -> Result<Accelerator, Failure> {
    let device = fs::OpenOptions::new().read(true).write(true).open(DEVICE);
    if device.is_err() {
        return Ok(Accelerator::COUNTED);
    }
    let answers = lab.make("kvm")?;
    let answer = answers.join(question(kernel)?);
    if let Some(known) = fs::read_to_string(&answer).ok().and_then(|text| of_answer(&text)) {
        return Ok(known);
    }
    let found = if boots(kernel, watcher)? { Accelerator::Kvm } else { Accelerator::COUNTED };
    let text = if found == Accelerator::Kvm { "yes\n" } else { "no\n" };
    fs::write(&answer, text).map_err(|error| crate::store::broken(&answer, &error))?;
    Ok(found)
}

impl Lab {
    /// What is known of KVM on this machine, or why guests are emulated, with the remedy. Nothing is booted.
    pub fn kvm(&self) -> Result<String, String> {
        known(self, Path::new(DEVICE))
    }
}

/// What is known of KVM here without a boot: the answers for any guest's kernel under this machine's. `Err`:
/// why guests are emulated, and the remedy.
fn known(lab: &Lab, device: &Path) -> Result<String, String> {
    let opened = fs::OpenOptions::new().read(true).write(true).open(device);
    let device = device.display();
    opened.map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => {
            format!(
                "{device}: {error}: join its group (sudo usermod -aG kvm $USER) and log in anew"
            )
        }
        _ => {
            "the lab emulates without it; enable virtualisation in the firmware or the host".into()
        }
    })?;
    let files = fs::read_dir(lab.folder().join("kvm")).into_iter().flatten().flatten();
    let ours = files.filter(|file| {
        file.file_name().to_string_lossy().starts_with(&format!("{}--", plain(&release())))
    });
    let texts = ours.filter_map(|file| fs::read_to_string(file.path()).ok());
    let answers: Vec<Accelerator> = texts.filter_map(|text| of_answer(&text)).collect();
    match answers.contains(&Accelerator::Kvm) {
        true => Ok(format!("{device}; a guest has booted under it")),
        false if answers.is_empty() => Ok(format!("{device}; the first guest tries it")),
        false => Err(format!("{device} is there, but no guest boots under it: the lab emulates")),
    }
}

fn of_answer(text: &str) -> Option<Accelerator> {
    match text.trim() {
        "yes" => Some(Accelerator::Kvm),
        "no" => Some(Accelerator::COUNTED),
        _ => None,
    }
}

/// What the answer depends on, as a file name: this machine's kernel, QEMU, and the guest's kernel.
fn question(kernel: &Kernel) -> Result<String, Failure> {
    Ok(plain(&format!("{}--{}--{}", release(), version()?, kernel.release)))
}

fn release() -> String {
    uname().map(|name| name.release().to_string_lossy().into_owned()).unwrap_or_default()
}

fn plain(words: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "+-.".contains(c) { c } else { '_' };
    words.chars().map(plain).collect()
}

fn boots(kernel: &Kernel, watcher: &dyn Watcher) -> Result<bool, Failure> {
    let initramfs = image::build(kernel, Order::default(), &[], &[])?;
    let guest = Guest {
        kernel: kernel.clone(),
        machine: Machine::ONE_CPU,
        apart: false,
        turn: None,
        memory_mib: MEMORY_MIB,
    };
    let running = Running::start(&guest, Accelerator::Kvm, &initramfs)?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if watcher.cancelled() {
            return Err(Failure::Interrupted);
        }
        match running.frames.recv_timeout(LOOK) {
            Ok(Ok(Frame::Exit(0))) => return Ok(true),
            Ok(Ok(_)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Ok(false),
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_answer_is_believed() {
        assert_eq!(of_answer("yes\n"), Some(Accelerator::Kvm));
        assert_eq!(of_answer("no\n"), Some(Accelerator::COUNTED));
        assert_eq!(of_answer(""), None, "a file that a killed run left half-written");
    }

    #[test]
    fn a_device_under_which_no_guest_boots_is_no_kvm() {
        let folder = tempfile::tempdir().expect("a folder");
        let lab = Lab::at(folder.path().to_path_buf());
        let device = folder.path().join("device");
        assert!(known(&lab, &device).is_err(), "no device");
        fs::write(&device, "").expect("a file");
        assert!(known(&lab, &device).expect("not tried").contains("first guest"));
        let answers = lab.make("kvm").expect("a folder");
        fs::write(answers.join("another--qemu--7.2"), "yes\n").expect("a file");
        let of = |kernel: &str| answers.join(format!("{}--qemu--{kernel}", plain(&release())));
        fs::write(of("6.1"), "no\n").expect("a file");
        assert!(known(&lab, &device).expect_err("it hangs").contains("no guest boots"));
        fs::write(of("7.2"), "yes\n").expect("a file");
        assert!(known(&lab, &device).expect("it boots").contains("has booted"));
    }
}
