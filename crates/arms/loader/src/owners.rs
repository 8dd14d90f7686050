//! What groups are to their operator, beside their paths.

use std::collections::BTreeMap;

use cgroup::{Name, Names, Pod};

use crate::report::Report;

/// The groups of a report that are a unit, a container or a pod, by path. What shows a report names them, and
/// not the report: to make one takes no files of others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Owners(BTreeMap<String, Name>);

impl Owners {
    /// Of the groups of a report and of its processes'.
    pub fn of(report: &Report, names: &mut Names) -> Owners {
        let groups = report.processes.values().map(|process| &process.group);
        let groups = report.groups.keys().chain(groups);
        let name = |path: &String| Some((path.clone(), names.of(path)?.clone()));
        Owners(groups.filter_map(name).collect())
    }

    /// Whether none is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the group at a path is, in words.
    pub fn words(&self) -> BTreeMap<&str, String> {
        self.0.iter().map(|(path, name)| (path.as_str(), name.to_string())).collect()
    }

    /// The container or pod of a group, whose path says neither; else the path.
    pub(crate) fn instead_of(&self, path: &str) -> String {
        let contained = self.0.get(path).filter(|name| name.is_contained());
        contained.map_or(path.to_string(), ToString::to_string)
    }

    /// What a process is in, where its own name does not say it.
    pub(crate) fn behind(&self, path: &str) -> String {
        self.0.get(path).map_or(String::new(), |name| format!(" in {name}"))
    }

    /// By path the parts of each name, for labels; empty: unknown.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&str, [(&'static str, String); 5])> {
        self.0.iter().map(|(path, name)| (path.as_str(), parts(name)))
    }
}

fn parts(name: &Name) -> [(&'static str, String); 5] {
    let known = |text: &Option<String>| text.clone().unwrap_or_default();
    let (namespace, pod) = match &name.pod {
        Some(Pod::Named { namespace, name }) => (namespace.clone(), name.clone()),
        Some(Pod::Uid(uid)) => (String::new(), uid.clone()),
        None => Default::default(),
    };
    [
        ("unit", known(&name.unit)),
        ("container", known(&name.container)),
        ("pod", pod),
        ("namespace", namespace),
        ("machine", known(&name.machine)),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A container of a pod, a unit, and what is neither.
    pub fn some() -> Owners {
        let named = |namespace: &str, name: &str| Pod::Named {
            namespace: namespace.to_string(),
            name: name.to_string(),
        };
        let web = Name {
            container: Some("web\"".to_string()),
            pod: Some(named("prod", "shop-7f9c")),
            ..Name::default()
        };
        let unit = Name { unit: Some("nginx.service".to_string()), ..Name::default() };
        let all = [("/kubepods/x", web), ("/system.slice/nginx.service", unit)];
        Owners(all.map(|(path, name)| (path.to_string(), name)).into())
    }

    #[test]
    fn a_path_stays_where_it_says_it_itself() {
        let owners = some();
        let shown = ["/kubepods/x", "/system.slice/nginx.service", "/limited"]
            .map(|path| owners.instead_of(path));
        let web = "container web\" of pod prod/shop-7f9c";
        assert_eq!(shown, [web, "/system.slice/nginx.service", "/limited"]);
        assert_eq!(owners.behind("/system.slice/nginx.service"), " in unit nginx.service");
        assert_eq!(owners.behind("/limited"), "", "the control");
    }

    #[test]
    fn groups_of_a_report_are_named_by_their_paths() {
        let id = "0".repeat(64);
        let groups = ["/", "/system.slice/docker-ID.scope", "/limited"];
        let groups = groups.map(|path| (path.replace("ID", &id), crate::Group::default()));
        let report = Report { groups: groups.into(), ..Report::default() };
        let owners = Owners::of(&report, &mut Names::default());
        let words: Vec<String> = owners.words().into_values().collect();
        assert_eq!(words, ["container 000000000000"]);
    }
}
