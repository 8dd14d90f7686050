//! scratch
use model::{Nanos, Silent, law::Law, scenario::Arrivals};
use queue::{Discipline, Ideal};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let services: Law = a[1].parse().unwrap();
    let workers: u32 = a[2].parse().unwrap();
    let u: f64 = a[3].parse().unwrap();
    let discipline: Discipline = a[4].parse().unwrap();
    let requests: u64 = a[5].parse::<f64>().unwrap() as u64;
    let ideal = Ideal {
        arrivals: Law::Exponential,
        load: Arrivals::Utilisation(u),
        services,
        service_time: Nanos(50_000),
        workers,
        discipline,
        requests,
        seed: 1,
    };
    let t = std::time::Instant::now();
    let r = ideal.run(&Silent).unwrap();
    let s = t.elapsed().as_secs_f64();
    println!("{:?}\n{:?}", r.latency, r.exact);
    println!("{:.1} M/s", r.simulated as f64 / s / 1e6);
}
