//! Scenarios of very many parts, and of very long ones: read in a time that grows as they do, or refused in a
//! few lines.

use std::fmt::Write;
use std::time::{Duration, Instant};

use model::scenario::AlterationKind;
use model::{Failure, Scenario};

const HEAD: &str = "# Many.\nduration = \"1s\"\n";
const MACHINE: &str = "[machine]\ncpus = 2\n";
const ONE: &str = "[[program]]\nname = \"one\"\nkind = \"batch\"\n";

fn text(of: impl FnOnce(&mut String)) -> String {
    let mut text = format!("{HEAD}{MACHINE}");
    of(&mut text);
    text
}

/// So many tables, the text of each by its number.
fn tables(count: usize, table: impl Fn(usize) -> String) -> String {
    text(|text| (0..count).for_each(|number| text.push_str(&table(number))))
}

/// Half of the programs live in the process of the last of the others.
fn hosted(count: usize) -> String {
    tables(count, |number| {
        let process = match number < count / 2 {
            true => String::new(),
            false => format!("process = \"p{}\"\n", count / 2 - 1),
        };
        format!("[[program]]\nname = \"p{number}\"\nkind = \"batch\"\n{process}")
    })
}

fn seeds(count: usize) -> String {
    let all: Vec<String> = (0..count).map(|seed| seed.to_string()).collect();
    format!("{HEAD}seeds = [{}]\n{MACHINE}{ONE}", all.join(", "))
}

fn changes(count: usize) -> String {
    let change = |number| format!("[[change]]\nat = \"{number}ns\"\nprogram = \"one\"\nnice = 5\n");
    tables(count, |number| if number == 0 { ONE.to_string() } else { change(number) })
}

fn read(text: &str) -> Result<Scenario, Failure> {
    Scenario::read(text, "x.toml")
}

/// What reading takes, and whatever else is done; the least of some, since a machine may be busy.
fn time(text: &str) -> Duration {
    let once = |_| {
        let begin = Instant::now();
        let scenario = read(text).expect("a scenario");
        // Where it is set up and described.
        assert!(!scenario.describe().is_empty());
        assert!(scenario.changes().len() + scenario.usable_cpus(scenario.duration).len() > 0);
        begin.elapsed()
    };
    (0..4).map(once).min().expect("some")
}

/// Sixty-four times as long where every part is compared with every other.
#[test]
fn eight_times_the_parts_take_eight_times_the_time() {
    for (what, of, count) in [
        ("programs", hosted as fn(usize) -> String, 5_000),
        ("seeds", seeds, 8_000),
        ("changes", changes, 5_000),
    ] {
        let [one, eight] = [count, 8 * count].map(|count| time(&of(count)));
        let ratio = eight.as_secs_f64() / one.as_secs_f64();
        assert!(ratio < 24.0, "{count} {what}: {one:?}, eight times: {eight:?}, {ratio:.1} times");
    }
}

fn refused(text: &str) -> String {
    match read(text) {
        Err(Failure::Input(message)) => message,
        other => panic!("{:?}", other.map(|scenario| scenario.name)),
    }
}

#[test]
fn what_is_too_many_is_said_with_its_place() {
    let groups = |count| tables(count, |number| format!("[[group]]\nname = \"g{number}\"\n")) + ONE;
    assert!(read(&groups(4_095)).is_ok(), "the control");
    let said = refused(&groups(4_096));
    assert!(said.starts_with("x.toml:8196:8: name: 4096 groups; expected at most 4095 on 2 CPUs"));
    let wide = groups(600).replace("cpus = 2", "cpus = 4096");
    assert!(refused(&wide).contains("600 groups; expected at most 512 on 4096 CPUs"));

    let deep = |levels| {
        let path = |level| vec!["g"; level + 1].join("/");
        tables(levels, |level| format!("[[group]]\nname = \"{}\"\n", path(level))) + ONE
    };
    let warned = |levels| read(&deep(levels)).expect("a scenario").warnings().join("\n");
    assert!(
        warned(9).contains("deeper than the 8 levels") && warned(8).is_empty(),
        "{}",
        warned(9)
    );
    assert!(read(&deep(32)).is_ok(), "the control");
    assert!(refused(&deep(33)).contains("name: expected at most 32 groups one in another"));

    assert!(read(&seeds(65_535)).is_ok(), "the control");
    let said = refused(&seeds(65_536));
    assert!(
        said.starts_with("x.toml:3:9: seeds: found 65536; expected at most 65535"),
        "{said:.200}"
    );

    let crowd =
        |count: usize| changes(count + 1).replace("batch\"\n", "batch\"\nthreads = 60000\n");
    assert!(read(&crowd(69)).is_ok(), "the control");
    let said = refused(&crowd(70));
    let expected = "at: 70 changes; expected at most 69 with 60000 threads and 0 groups";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn many_mistakes_are_said_in_a_few_lines_and_at_once() {
    let begin = Instant::now();
    let wrong = tables(50_000, |number| {
        format!(
            "[[program]]\nname = \"p{number}\"\nkind = \"batch\"\ngroup = \"abcdefgh{number}\"\n"
        )
    });
    let said = refused(&wrong);
    assert_eq!(said.matches("no group `").count(), 50, "{said}");
    assert!(said.ends_with("there may be more."), "{said}");
    let many = tables(50_000, |number| format!("[[group]]\nname = \"x{number}y\"\nweight = 0\n"));
    assert!(refused(&(many + ONE)).lines().count() < 200);
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
}

#[test]
fn what_is_very_long_is_said_in_part() {
    let long = "a".repeat(10_000_000);
    let path = vec!["b"; 3_000].join("/");
    for wrong in [
        format!("[[program]]\nname = \"{long}\"\nkind = \"batch\"\n"),
        format!("{ONE}{long} = 1\n"),
        format!("{ONE}group = \"{path}\"\n"),
        format!("{ONE}nice = {}\n", "1".repeat(100_000)),
        format!("{ONE}memory_bound = \"{long}\"\n"),
        format!("[[program]]\nname = \"p\"\nkind = \"{long}\"\n"),
        format!("[[group]]\nname = \"{path}\"\n{ONE}"),
    ] {
        let said = refused(&text(|text| text.push_str(&wrong)));
        assert!(said.len() < 4_000, "{} bytes: {:.300}", said.len(), said);
        assert!(said.starts_with("x.toml:"), "{:.300}", said);
    }
}

/// Threads that have the same CPUs share the list of them: 60,000 lists of 4,095 would be a gigabyte.
#[test]
fn threads_share_their_set_of_cpus() {
    let list: Vec<String> = (0..4_095).map(|cpu| cpu.to_string()).collect();
    let bound = format!(
        "{HEAD}[machine]\ncpus = 4096\n[[group]]\nname = \"g\"\ncpus = [{}]\n{ONE}threads = 60000\ngroup = \"g\"\n",
        list.join(",")
    );
    let changes = read(&bound).expect("a scenario").changes();
    let first = match &changes[0].kind {
        model::change::ChangeKind::Affinity { cpus, .. } => cpus.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!((changes.len(), first.len()), (60_000, 4_095));
    // One here, one for each thread, and no copy.
    assert_eq!(std::sync::Arc::strong_count(&first), 60_001);
}

/// They were passed over without a word where a table stands for several programs.
#[test]
fn changes_happen_beside_programs_that_are_alike() {
    let mut alike = text(|text| text.push_str(ONE));
    write!(alike, "count = 3\n[[change]]\nat = \"1ms\"\nprogram = \"one-2\"\nnice = 5\n").unwrap();
    let scenario = read(&alike).expect("a scenario");
    let [change] = &scenario.alterations[..] else { panic!("{:?}", scenario.alterations) };
    assert_eq!(change.kind, AlterationKind::Nice { program: 1, nice: 5 });
}
