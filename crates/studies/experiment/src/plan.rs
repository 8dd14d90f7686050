//! A plan: grids, and the points in them.

use model::edit::{Edit, edited};
use model::scenario::Program;
use model::{Arm, Failure, PolicySpec, Scenario, did_you_mean};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::point::{Point, Work};
use crate::sample::sample;

/// Points at most: more are a slip, and would fill the folder.
const MOST_POINTS: u64 = 1_000_000;
/// Bytes of memory for the scenarios of all points: each point has its own, with all of its programs.
const MOST_BYTES: usize = 2 << 30;
/// Bytes of a scenario's text that are not counted: longer ones list what is replayed.
const USUAL_TEXT: usize = 64 << 10;

/// Keys of a plan alone; a plan without `grid` is a grid, and gives to its grids what they do not say.
const PLAN_KEYS: [&str; 2] = ["on", "grid"];
const GRID_KEYS: [&str; 7] =
    ["scenario", "policies", "seeds", "values", "sample", "sample_seed", "command"];

/// A scenario that a grid varies.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file's name, for messages and commands.
    pub file: String,
    /// Its text.
    pub text: String,
    /// What was changed in the text since it was read, each as KEY=VALUE.
    pub edits: Vec<String>,
}

/// What an experiment runs, and on which arm.
pub struct Plan {
    on: String,
    grids: Vec<Grid>,
}

/// Each scenario with each combination of values under each policy, or a sample of these; or a command.
struct Grid {
    sources: Vec<Source>,
    policies: Vec<String>,
    seeds: Option<Vec<u64>>,
    values: Vec<(String, Vec<Value>)>,
    sample: Option<(u64, u64)>,
    command: Vec<String>,
}

impl Plan {
    /// Reads a plan; `load` gives the text of a scenario file that it names. `docs/guide/sweeps.md` lists
    /// every key.
    pub fn read(
        text: &str,
        file: &str,
        load: impl Fn(&str) -> Result<Source, Failure>,
    ) -> Result<Plan, Failure> {
        let wrong = |what: String| Failure::Input(format!("{file}: {what}"));
        let document: DocumentMut = text.parse().map_err(|e| wrong(format!("{e}")))?;
        let named = |table: &dyn TableLike| {
            let Some(named) = table.get("scenario").and_then(Item::as_value) else {
                return Ok(Vec::new());
            };
            let files = words("scenario", named).map_err(Failure::Input)?;
            files.iter().map(|file| load(file)).collect()
        };
        planned(document.as_table(), &named).map_err(|failure| wrong(failure.to_string()))
    }

    /// A plan over scenarios that were read already; every other key is in the table.
    pub fn of(table: &dyn TableLike, sources: Vec<Source>) -> Result<Plan, Failure> {
        planned(table, &|_| Ok(sources.clone()))
    }

    /// [`Failure::Input`] where it names code: a policy in a file, or a command. A plan is data, and runs
    /// nothing that its reader has not allowed.
    pub fn check_shipped(&self) -> Result<(), Failure> {
        for grid in &self.grids {
            if !grid.command.is_empty() {
                let command = grid.command.join(" ");
                return Err(Failure::Input(format!(
                    "command `{command}` is a program of its own: read it, then say --allow-own-policies"
                )));
            }
            grid.policies.iter().try_for_each(|text| PolicySpec::parse(text)?.check_shipped())?;
        }
        Ok(())
    }

    /// The arm's name.
    pub fn on(&self) -> &str {
        &self.on
    }

    /// The keys that differ between points, in their order.
    pub fn keys(&self) -> Vec<&str> {
        let mut keys: Vec<&str> = Vec::new();
        for (key, _) in self.grids.iter().flat_map(|grid| &grid.values) {
            if !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
        keys
    }

    /// The points, grid by grid, the policies of one combination beside each other. Each is valid, and could
    /// run where the arm is the simulator; what a real kernel or this machine lacks fails the points that
    /// need it, not the plan.
    pub fn points(&self, arm: &dyn Arm) -> Result<Vec<Point>, Failure> {
        self.points_within(arm, MOST_BYTES)
    }

    fn points_within(&self, arm: &dyn Arm, most_bytes: usize) -> Result<Vec<Point>, Failure> {
        let mut points = Vec::new();
        let mut room = Room { most_bytes, left: most_bytes, points: 0 };
        for (place, grid) in self.grids.iter().enumerate() {
            let first = points.len();
            points.extend(grid.points(arm, &mut room)?);
            points[first..].iter_mut().for_each(|point| point.grid = place);
        }
        Ok(points)
    }
}

impl Grid {
    fn points(&self, arm: &dyn Arm, room: &mut Room) -> Result<Vec<Point>, Failure> {
        if !self.command.is_empty() {
            let seeds = self.seeds.iter().flatten();
            let point = |seed: &u64| Point::of_command(self.command.clone(), *seed, arm);
            return seeds.map(point).collect();
        }
        let sizes = self.values.iter().map(|(_, values)| values.len());
        let sizes = [self.sources.len()].into_iter().chain(sizes).chain([self.policies.len()]);
        let sizes: Vec<u64> = sizes.map(|size| size as u64).collect();
        let all = sizes.iter().try_fold(1u64, |all, size| all.checked_mul(*size));
        let all = all.ok_or_else(|| too_many("more than 2^64"))?;
        let (count, seed) = self.sample.unwrap_or((all, 0));
        if count.min(all) > MOST_POINTS {
            return Err(too_many(&count.min(all).to_string()));
        }
        let chosen = sample(all, count, seed);
        if let (Some(first), true) = (chosen.first(), self.is_of_one_size()) {
            let first = self.point(&places(*first, &sizes), arm)?;
            room.check(&first, self.sources[0].text.len(), chosen.len())?;
        }
        let point = |number: u64| {
            let places = places(number, &sizes);
            let point = self.point(&places, arm)?;
            room.take(&point, self.sources[places[0]].text.len())?;
            Ok(point)
        };
        chosen.into_iter().map(point).collect()
    }

    /// Whether all points have the same programs, so that one tells what all of them take: to read thousands
    /// of large scenarios takes minutes.
    fn is_of_one_size(&self) -> bool {
        let resizes = |key: &str| key == "program" || key.ends_with("count");
        self.sources.len() == 1 && !self.values.iter().any(|(key, _)| resizes(key))
    }

    /// The point at a place along each of: scenarios, values of each key, policies.
    fn point(&self, places: &[usize], arm: &dyn Arm) -> Result<Point, Failure> {
        let (source, policy) = (&self.sources[places[0]], places[places.len() - 1]);
        let at = self.values.iter().zip(&places[1..]);
        let edits = at.map(|((key, values), place)| Edit::new(key, values[*place].clone()));
        let edits: Vec<Edit> = edits.collect::<Result<_, _>>()?;
        let text = edited(&source.text, &source.file, &edits)?;
        let mut scenario = Scenario::read(&text, &source.file)?;
        scenario.seeds = self.seeds.clone().unwrap_or(scenario.seeds);
        let own = edits.iter().map(Edit::to_string);
        let point = Point {
            file: source.file.clone(),
            edits: source.edits.iter().cloned().chain(own).collect(),
            values: edits.iter().map(|edit| (edit.key().to_string(), edit.value())).collect(),
            ..Point::new(scenario, &PolicySpec::parse(&self.policies[policy])?, false, arm)?
        };
        match point.check(arm) {
            Err(failure) if arm.name() == "sim" => Err(failure),
            _ => Ok(point),
        }
    }
}

/// What points may still take.
struct Room {
    most_bytes: usize,
    left: usize,
    points: usize,
}

impl Room {
    /// A point, made of a text of so many bytes.
    fn take(&mut self, point: &Point, text: usize) -> Result<(), Failure> {
        self.check(point, text, 1)?;
        self.left -= bytes_of(point, text);
        self.points += 1;
        Ok(())
    }

    /// Whether so many points like this one have room.
    fn check(&self, point: &Point, text: usize, count: usize) -> Result<(), Failure> {
        if bytes_of(point, text).saturating_mul(count) <= self.left {
            return Ok(());
        }
        Err(Failure::Input(format!(
            "{} points take more than {} MiB of memory, for each has a scenario of its own, here of {} programs: \
             use `sample`, several plans, or `threads` of one program in place of `count`",
            self.points + count,
            self.most_bytes >> 20,
            programs_of(point)
        )))
    }
}

fn programs_of(point: &Point) -> usize {
    match &point.work {
        Work::Scenario { scenario, .. } => scenario.programs.len(),
        Work::Command(_) => 0,
    }
}

/// What a point takes that was made of a text of so many bytes.
fn bytes_of(point: &Point, text: usize) -> usize {
    programs_of(point) * size_of::<Program>() + text.saturating_sub(USUAL_TEXT)
}

fn too_many(count: &str) -> Failure {
    Failure::Input(format!("{count} points; expected at most {MOST_POINTS}: use `sample`"))
}

/// A number as places along axes of these sizes; the last axis runs fastest.
fn places(mut number: u64, sizes: &[u64]) -> Vec<usize> {
    let mut places = vec![0; sizes.len()];
    for (place, size) in places.iter_mut().zip(sizes).rev() {
        *place = (number % size) as usize;
        number /= size;
    }
    places
}

/// Gives the scenarios of a grid.
type Sources<'a> = dyn Fn(&dyn TableLike) -> Result<Vec<Source>, Failure> + 'a;

fn planned(top: &dyn TableLike, sources: &Sources) -> Result<Plan, Failure> {
    let on = top.get("on").and_then(Item::as_str).unwrap_or("sim").to_string();
    let defaults = || top.iter().filter(|(key, _)| !PLAN_KEYS.contains(key));
    let grids = match top.get("grid").and_then(Item::as_array_of_tables) {
        None => vec![defaults().map(|(key, item)| (key, item.clone())).collect()],
        Some(tables) => tables.iter().map(|table| completed(table, defaults())).collect(),
    };
    let grids = grids.iter().map(|table: &Table| {
        let grid = parse(table).map_err(Failure::Input)?;
        Ok(Grid { sources: sources(table)?, ..grid })
    });
    let grids = grids.collect::<Result<Vec<Grid>, Failure>>()?;
    let without = grids.iter().any(|grid| grid.command.is_empty() && grid.sources.is_empty());
    if without {
        return Err(Failure::Input("missing key `scenario`".to_string()));
    }
    Ok(Plan { on, grids })
}

/// A grid with what the plan says for all.
fn completed<'a>(own: &Table, defaults: impl Iterator<Item = (&'a str, &'a Item)>) -> Table {
    let mut table = own.clone();
    for (key, item) in defaults {
        table.entry(key).or_insert_with(|| item.clone());
    }
    table
}

/// A grid but for its scenarios.
fn parse(table: &Table) -> Result<Grid, String> {
    if let Some((key, _)) = table.iter().find(|(key, _)| !GRID_KEYS.contains(key)) {
        let keys: Vec<&str> = GRID_KEYS.into_iter().chain(PLAN_KEYS).collect();
        let hint = did_you_mean(key, &keys);
        return Err(format!("unknown key `{key}`{hint}; expected {}", keys.join(", ")));
    }
    let value = |key: &str| table.get(key).and_then(Item::as_value);
    let listed = |key: &str| value(key).map(|value| words(key, value)).transpose();
    let number = |key: &str| {
        let wrong = || format!("{key}: expected a whole number from 0 on");
        value(key).map(|value| whole(value).ok_or_else(wrong)).transpose()
    };
    let sample = number("sample")?;
    if sample == Some(0) {
        return Err("sample: expected at least one point".to_string());
    }
    let sample_seed = number("sample_seed")?.unwrap_or(1);
    let command = listed("command")?.unwrap_or_default();
    let policies = listed("policies")?.unwrap_or_default();
    let seeds = value("seeds").map(|seeds| several("seeds", seeds, whole)).transpose()?;
    if command.is_empty() && policies.is_empty() {
        return Err("missing key `policies`".to_string());
    }
    if !command.is_empty() && seeds.is_none() {
        return Err("command: say its `seeds`".to_string());
    }
    Ok(Grid {
        sources: Vec::new(),
        policies,
        seeds,
        values: values(table.get("values"))?,
        sample: sample.map(|count| (count, sample_seed)),
        command,
    })
}

fn values(item: Option<&Item>) -> Result<Vec<(String, Vec<Value>)>, String> {
    let Some(item) = item else { return Ok(Vec::new()) };
    let table = item.as_table_like().ok_or("values: expected a table of lists")?;
    let lists = table.iter().map(|(key, item)| {
        let list = item.as_value().and_then(Value::as_array).filter(|list| !list.is_empty());
        let list = list.ok_or_else(|| format!("values: `{key}`: expected a list of values"))?;
        Ok((key.to_string(), list.iter().cloned().collect()))
    });
    lists.collect()
}

/// One word or a list of them.
fn words(key: &str, value: &Value) -> Result<Vec<String>, String> {
    match value.as_str() {
        Some(word) => Ok(vec![word.to_string()]),
        None => several(key, value, |value| value.as_str().map(str::to_string)),
    }
}

fn several<T>(key: &str, value: &Value, read: fn(&Value) -> Option<T>) -> Result<Vec<T>, String> {
    let list = value.as_array().filter(|list| !list.is_empty());
    let all = list.and_then(|list| list.iter().map(read).collect());
    all.ok_or_else(|| format!("{key}: expected a list, of at least one entry and all of one kind"))
}

fn whole(value: &Value) -> Option<u64> {
    value.as_integer().and_then(|number| u64::try_from(number).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::SimArm;

    /// A plan of points that each have so many programs.
    fn plan(programs: u32, points: u32) -> Plan {
        let text = format!(
            "# A.\nduration = \"1ms\"\n[machine]\ncpus = 1\n[[program]]\nname = \"b\"\nkind = \"batch\"\n\
             count = {programs}\n"
        );
        let seeds: Vec<String> = (0..points).map(|seed| format!("[{seed}]")).collect();
        let seeds = seeds.join(", ");
        let grid =
            format!("scenario = \"a.toml\"\npolicies = [\"eevdf\"]\n[values]\nseeds = [{seeds}]\n");
        let source = |file: &str| {
            Ok(Source { file: file.to_string(), text: text.clone(), edits: Vec::new() })
        };
        Plan::read(&grid, "grid.toml", source).expect("a plan")
    }

    #[test]
    fn points_are_as_many_as_there_is_memory_for() {
        let made = |programs, points| plan(programs, points).points_within(&SimArm, 1 << 20);
        let grown = |counts: &str| {
            let mut plan = plan(500, 2);
            let counts = format!("\"program.b.count\" = [{counts}]").parse::<DocumentMut>();
            let counts = values(Some(counts.expect("a list").as_item()));
            plan.grids[0].values.extend(counts.expect("values"));
            plan.points_within(&SimArm, 1 << 20)
        };
        assert_eq!(made(2, 40).expect("control: small scenarios").len(), 40);
        assert_eq!(made(500, 2).expect("control: few points").len(), 2);
        let Err(Failure::Input(message)) = made(500, 40) else { panic!("expected a refusal") };
        assert!(message.contains("40 points take more than 1 MiB of memory"), "{message}");
        assert!(message.contains("500 programs: use `sample`"), "{message}");
        assert_eq!(grown("500, 1, 2, 3").expect("control: most are small").len(), 8);
        let Err(Failure::Input(message)) = grown("1, 4000") else { panic!("expected a refusal") };
        assert!(message.contains("4000 programs: use `sample`"), "{message}");
    }
}
