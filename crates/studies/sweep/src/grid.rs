//! A grid, and the points in it.

use model::edit::{Edit, edited};
use model::{Failure, PolicySpec, Scenario};
use toml_edit::{DocumentMut, Item, TableLike, Value};

use crate::point::Point;
use crate::sample::sample;

/// Points at most: more are a slip, and would fill the folder.
const MOST_POINTS: u64 = 1_000_000;

const KEYS: [&str; 6] = ["scenario", "policies", "seeds", "values", "sample", "sample_seed"];

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

/// What a sweep runs: each scenario with each combination of values under each policy, or a sample of these.
pub struct Grid {
    sources: Vec<Source>,
    policies: Vec<String>,
    seeds: Option<Vec<u64>>,
    values: Vec<(String, Vec<Value>)>,
    sample: Option<(u64, u64)>,
}

impl Grid {
    /// Reads a grid file; `load` gives the text of a scenario file that it names. `docs/guide/sweeps.md`
    /// lists every key.
    pub fn read(
        text: &str,
        file: &str,
        load: impl Fn(&str) -> Result<Source, Failure>,
    ) -> Result<Grid, Failure> {
        let wrong = |what: String| Failure::Input(format!("{file}: {what}"));
        let document: DocumentMut = text.parse().map_err(|e| wrong(format!("{e}")))?;
        let table = document.as_table();
        let named = table.get("scenario").and_then(Item::as_value);
        let named = named.ok_or_else(|| wrong("missing key `scenario`".to_string()))?;
        let files = words("scenario", named).map_err(wrong)?;
        let sources = files.iter().map(|file| load(file)).collect::<Result<_, _>>()?;
        Grid::of(table, sources).map_err(|failure| wrong(failure.to_string()))
    }

    /// A grid over scenarios that were read already; every other key is in the table.
    pub fn of(table: &dyn TableLike, sources: Vec<Source>) -> Result<Grid, Failure> {
        parse(table, sources).map_err(Failure::Input)
    }

    /// The keys that differ between points, in their order.
    pub fn keys(&self) -> Vec<&str> {
        self.values.iter().map(|(key, _)| key.as_str()).collect()
    }

    /// The points, the policies of one combination beside each other. Each could run: every scenario is valid
    /// with its values, every policy known.
    pub fn points(&self) -> Result<Vec<Point>, Failure> {
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
        chosen.into_iter().map(|number| self.point(&places(number, &sizes))).collect()
    }

    /// The point at a place along each of: scenarios, values of each key, policies.
    fn point(&self, places: &[usize]) -> Result<Point, Failure> {
        let (source, policy) = (&self.sources[places[0]], places[places.len() - 1]);
        let at = self.values.iter().zip(&places[1..]);
        let edits = at.map(|((key, values), place)| Edit::new(key, values[*place].clone()));
        let edits: Vec<Edit> = edits.collect::<Result<_, _>>()?;
        let text = edited(&source.text, &source.file, &edits)?;
        let scenario = Scenario::read(&text, &source.file)?;
        let own = edits.iter().map(Edit::to_string);
        let mut point = Point {
            id: String::new(),
            file: source.file.clone(),
            edits: source.edits.iter().cloned().chain(own).collect(),
            values: edits.iter().map(|edit| (edit.key().to_string(), edit.value())).collect(),
            policy: PolicySpec::parse(&self.policies[policy])?.to_string(),
            seeds: self.seeds.clone().unwrap_or_else(|| scenario.seeds.clone()),
            text,
        };
        point.check(&scenario)?;
        point.id = point.identity(&scenario)?;
        Ok(point)
    }
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

fn parse(table: &dyn TableLike, sources: Vec<Source>) -> Result<Grid, String> {
    if let Some((key, _)) = table.iter().find(|(key, _)| !KEYS.contains(key)) {
        let hint = model::did_you_mean(key, &KEYS);
        return Err(format!("unknown key `{key}`{hint}; expected {}", KEYS.join(", ")));
    }
    let value = |key: &str| table.get(key).and_then(Item::as_value);
    let policies = words("policies", value("policies").ok_or("missing key `policies`")?)?;
    let seeds = value("seeds").map(|seeds| several("seeds", seeds, whole)).transpose()?;
    let number = |key: &str| {
        let wrong = || format!("{key}: expected a whole number from 0 on");
        value(key).map(|value| whole(value).ok_or_else(wrong)).transpose()
    };
    let sample = number("sample")?;
    let sample_seed = number("sample_seed")?.unwrap_or(1);
    if sample == Some(0) {
        return Err("sample: expected at least one point".to_string());
    }
    Ok(Grid {
        sources,
        policies,
        seeds,
        values: values(table.get("values"))?,
        sample: sample.map(|count| (count, sample_seed)),
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
