//! The report's fields in the words of scx_stats, which its clients ask for.

use loader::Field;
use scx_stats::{StatsData, StatsField, StatsFieldAttrs, StatsKind, StatsMeta, StatsStructAttrs};

/// A structure; `prefix` and `label` are what scx_stats' exporter to OpenMetrics puts before the fields'
/// names and calls the structure's key.
pub fn meta(name: &str, about: &str, fields: &[Field], prefix: &str, label: &str) -> StatsMeta {
    let user = [("_om_prefix", prefix), ("_om_label", label)];
    let user = user.into_iter().filter(|(_, value)| !value.is_empty());
    StatsMeta {
        name: name.into(),
        attrs: StatsStructAttrs {
            top: None,
            desc: Some(about.trim().into()),
            user: user.map(|(key, value)| (key.into(), value.into())).collect(),
        },
        fields: fields
            .iter()
            .map(|(name, kind, what)| ((*name).into(), field(kind, what)))
            .collect(),
    }
}

fn field(kind: &str, what: &str) -> StatsField {
    // Text is no metric.
    let user = (kind == "String").then(|| ("_om_skip".to_string(), "true".to_string()));
    let attrs =
        StatsFieldAttrs { desc: Some(what.trim().into()), user: user.into_iter().collect() };
    StatsField { data: data(kind), attrs }
}

fn data(kind: &str) -> StatsData {
    let map = kind.replace(' ', "");
    let map = map.strip_prefix("BTreeMap<").and_then(|rest| rest.strip_suffix('>'));
    match map.and_then(|inside| inside.split_once(',')) {
        Some((key, datum)) => StatsData::Dict { key: simple(key), datum: simple(datum) },
        None => StatsData::Datum(simple(kind)),
    }
}

fn simple(kind: &str) -> StatsKind {
    match kind {
        "String" => StatsKind::String,
        "f64" => StatsKind::Float,
        "u32" | "u64" => StatsKind::U64,
        name => StatsKind::Struct(name.into()),
    }
}
