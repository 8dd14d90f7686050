//! `unpack SUITE FOLDER PACKAGE...` brings Debian's packages by the lab's own apt state. They are unpacked,
//! not installed. It prints where their files are.

use std::path::Path;
use std::process::ExitCode;

use lab::Lab;
use model::Failure;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let unpacked = match &args[..] {
        [suite, folder, names @ ..] if !names.is_empty() => {
            Lab::of_user().and_then(|lab| lab.unpack(suite, names, Path::new(folder)))
        }
        _ => Err(Failure::Input("unpack SUITE FOLDER PACKAGE...".to_string())),
    };
    match unpacked {
        Ok(tree) => println!("{}", tree.display()),
        Err(failure) => {
            eprintln!("unpack: {failure}");
            return ExitCode::from(3);
        }
    }
    ExitCode::SUCCESS
}
