//! How often the interval of a capacity holds the load that the closed form of M/D/c says.

use capacity::{Objective, Study};
use experiment::{Runner, Source, Store};
use model::{PolicySpec, Silent};
use queue::exact::MDc;
use sim::SimArm;

fn main() {
    let words: Vec<u64> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();
    let (studies, seeds, ms, cpus) = (words[0], words[1], words[2], words[3] as u32);
    for (slo, p) in [("200ms=1%", 0.99), ("200ms=0.1%", 0.999)] {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if MDc::new(cpus, middle).unwrap().quantile(p) <= 10.0 {
                low = middle
            } else {
                high = middle
            }
        }
        let exact = low * f64::from(cpus) * 50.0;
        let text = format!(
            "# A.\nduration = \"{ms}ms\"\nwarm_up = \"20s\"\noutlier_threshold = \"200ms\"\n[machine]\ncpus = {cpus}\n\
             [[program]]\nname = \"web\"\nkind = \"service\"\nservice_time = \"20ms\"\narrivals = {{ utilisation = 0.5 }}\n"
        );
        let (mut under, mut over, mut width, mut bias, mut open) = (0, 0, Vec::new(), 0.0, 0);
        for study in 0..studies {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(folder.path()).unwrap();
            let run = Study {
                source: Source { file: "a.toml".into(), text: text.clone(), edits: Vec::new() },
                service: None,
                objective: slo.parse::<Objective>().unwrap(),
                policies: vec![PolicySpec::plain("fifo")],
                seeds: (1..=seeds).map(|seed| study * seeds + seed).collect(),
                runner: Runner { arm: &SimArm, store: &store, jobs: 2, until: None },
            }
            .run(&Silent)
            .unwrap();
            let q = run.ideal.rate_per_s;
            let (l, h) = (q.low.unwrap_or(0.0), q.high.unwrap_or(f64::INFINITY));
            open += u32::from(q.low.is_none());
            under += u32::from(h < exact);
            over += u32::from(l > exact);
            width.push((h - l) / exact);
            bias += q.value.unwrap_or(0.0) / exact - 1.0;
        }
        width.sort_by(f64::total_cmp);
        println!(
            "{slo} exact {exact:.2}: below {under} above {over} of {studies}; open {open}; median width {:.3}; bias {:.4}",
            width[width.len() / 2],
            bias / studies as f64
        );
    }
}
