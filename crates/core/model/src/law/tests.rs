use super::*;

fn laws() -> Vec<Law> {
    let texts = [
        "fixed",
        "exponential",
        "lognormal:cv=0.5",
        "lognormal:cv=2",
        "weibull:shape=0.5",
        "weibull:shape=3",
        "pareto:shape=5",
        "hyperexponential:cv=1",
        "hyperexponential:cv=3",
        "mmpp:ratio=10:share=0.1:length=20",
    ];
    let mut laws: Vec<Law> = texts.iter().map(|text| text.parse().unwrap()).collect();
    laws.push(Law::measured(&[1.0, 2.0, 5.0, 0.0]).unwrap());
    laws
}

/// Mean and squared coefficient of variation of a million draws.
fn moments(law: &Law, seed: u64) -> (f64, f64) {
    let mut block = vec![0.0; 1_000_000];
    Sampler::new(law, seed).fill(&mut block);
    let n = block.len() as f64;
    let mean = block.iter().sum::<f64>() / n;
    (mean, block.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n)
}

#[test]
fn every_law_has_mean_1_and_its_own_variance() {
    for law in laws() {
        let (mean, variance) = moments(&law, 1);
        let expected = law.squared_cv().unwrap();
        assert!((mean - 1.0).abs() < 0.004 * (1.0 + expected), "{law}: mean {mean}");
        assert!(
            (variance - expected).abs() < 0.05 * expected + 1e-12,
            "{law}: {variance} {expected}"
        );
    }
}

/// The control of the test above: it would notice another parameter.
#[test]
fn the_variance_follows_the_parameter() {
    let (_, variance) = moments(&Law::lognormal(2.2).unwrap(), 1);
    assert!((variance - 4.0).abs() > 0.05 * 4.0);
}

#[test]
fn a_block_holds_the_numbers_that_come_one_by_one() {
    for law in laws() {
        let mut block = [0.0; 1_000];
        Sampler::new(&law, 7).fill(&mut block);
        let mut single = Sampler::new(&law, 7);
        assert!(block.iter().all(|x| x.to_bits() == single.next().to_bits()), "{law}");
        let mut other = Sampler::new(&law, 8);
        let differs = block.iter().any(|x| *x != other.next());
        assert_eq!(differs, law != Law::Fixed, "{law}: another seed");
    }
}

#[test]
fn the_tail_of_a_pareto_is_a_power() {
    let mut block = vec![0.0; 1_000_000];
    Sampler::new(&Law::pareto(1.5).unwrap(), 3).fill(&mut block);
    let beyond = |x: f64| block.iter().filter(|y| **y > x).count() as f64;
    assert!(block.iter().all(|x| *x >= 1.0 / 3.0));
    assert!((beyond(10.0) / beyond(40.0) - 8.0).abs() < 0.8);
    assert_eq!(Law::pareto(1.5).unwrap().squared_cv(), None);
}

#[test]
fn gaps_of_bursts_are_correlated() {
    let lag_one = |law: &Law| {
        let mut block = vec![0.0; 200_000];
        Sampler::new(law, 5).fill(&mut block);
        let products: f64 = block.windows(2).map(|w| (w[0] - 1.0) * (w[1] - 1.0)).sum();
        products / block.len() as f64 / law.squared_cv().unwrap()
    };
    assert!(lag_one(&Law::mmpp(10.0, 0.1, 100.0).unwrap()) > 0.1);
    assert!(lag_one(&Law::mmpp(1.0, 0.1, 100.0).unwrap()).abs() < 0.02, "ratio 1 is Poisson");
}

#[test]
fn laws_print_as_they_are_read() {
    for law in laws().iter().filter(|law| !matches!(law, Law::Measured(_))) {
        assert_eq!(law.to_string().parse::<Law>().as_ref(), Ok(law));
    }
}

#[test]
fn bad_laws_are_bad_input_with_a_remedy() {
    let message = |text: &str| match text.parse::<Law>() {
        Err(Failure::Input(message)) => message,
        other => panic!("{text}: {other:?}"),
    };
    assert!(message("lognormal:cv=0").contains("`cv` is 0, but must be above 0 and at most 100"));
    assert!(message("pareto:shape=1.0000001").contains("must be at least 1.01 and at most 100"));
    assert!(message("mmpp:ratio=2:share=1:length=3").contains("below 1"));
    assert!(message("weibull:shape=nan").contains("must be at least 0.1"));
    for text in ["", "gauss", "fixed:cv=1", "lognormal", "lognormal:cv=x", "lognormal:cv=1:a=2"] {
        assert!(message(text).contains("expected one of"), "{text}");
    }
    for samples in [&[][..], &[0.0][..], &[-1.0, 3.0][..], &[f64::NAN][..]] {
        assert!(matches!(Law::measured(samples), Err(Failure::Input(_))));
    }
}

#[test]
fn replayed_samples_come_in_their_order_and_again() {
    let law = Law::replay(&[1.0, 2.0, 3.0]).unwrap();
    let mut sampler = Sampler::new(&law, 7);
    let drawn: Vec<f64> = (0..6).map(|_| sampler.next()).collect();
    assert_eq!(drawn, [0.5, 1.0, 1.5, 0.5, 1.0, 1.5]);
    assert!(Law::replay(&[]).is_err() && Law::replay(&[1.0, f64::NAN]).is_err());
}
