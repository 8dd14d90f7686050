//! The texts in which keys stand.

/// What most texts begin with.
pub const HEAD: &str = "# A test.\nduration = \"10s\"\nmachine.cpus = 4\n";
/// The program of texts that have none.
pub const PROGRAM: &str = "\n[[program]]\nname = \"p\"\nkind = \"batch\"\n";
/// What changes are made of.
pub const CHANGED: &str = "group = [{ name = \"web-1\" }]\nprogram = [{ name = \"web-1\", kind = \"batch\", threads = 8 }]\n";

/// The text of a place: tables with a line `@` for the key. What stands in the lines below it up to an empty
/// one gives way to it. [`HEAD`] stands before all but the first two, and a program behind those that have
/// none.
pub fn text_of(place: &str) -> Option<&'static str> {
    let mut places =
        include_str!("places.txt").split("== ").filter_map(|part| part.split_once('\n'));
    places.find(|(name, _)| *name == place).map(|(_, text)| text)
}
