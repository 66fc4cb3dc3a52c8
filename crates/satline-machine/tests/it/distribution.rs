//! Distributions against their moments.

use satline_machine::engine::{Distribution, Span, Stream, Streams};

fn draws(distribution: &Distribution, count: usize) -> Vec<f64> {
    let mut stream: Stream = Streams::new(5, 0).stream(0, "test");
    (0..count)
        .map(|_| distribution.draw(&mut stream).seconds())
        .collect()
}

#[test]
fn means_and_spreads_are_as_asked() {
    let count = 40_000;
    let hyper_second_moment: f64 = 2.0 * (0.9 * 1.0 + 0.1 * 400.0);
    let cases = [
        (Distribution::fixed(2.5), 2.5, 0.0),
        (Distribution::uniform(1.0, 4.0), 2.5, 3.0 / 12f64.sqrt()),
        (Distribution::exponential(3.0), 3.0, 3.0),
        (Distribution::lognormal(3.0, 2.0), 3.0, 2.0),
        (
            Distribution::hyperexponential(0.9, [1.0, 20.0]),
            2.9,
            (hyper_second_moment - 2.9 * 2.9).sqrt(),
        ),
        // Uniform within 0 … 2, twice as dense below 1 as above.
        (
            Distribution::empirical(&[(0.0, 0.0), (2.0 / 3.0, 1.0), (1.0, 2.0)]),
            5.0 / 6.0,
            (2.0 / 9.0 + 7.0 / 9.0 - 25.0 / 36.0f64).sqrt(),
        ),
    ];
    for (distribution, mean, sd) in cases {
        let distribution = distribution.unwrap();
        assert!((distribution.mean_s() - mean).abs() < 1e-9, "{distribution:?}");
        let values = draws(&distribution, count);
        let found = values.iter().sum::<f64>() / count as f64;
        assert!(
            (found - mean).abs() <= 4.5 * sd / (count as f64).sqrt(),
            "{distribution:?}: mean {found}"
        );
        let variance = values.iter().map(|value| (value - found).powi(2)).sum::<f64>() / count as f64;
        assert!(
            (variance.sqrt() - sd).abs() <= 0.06 * sd,
            "{distribution:?}: sd {}",
            variance.sqrt()
        );
    }
}

#[test]
fn a_change_of_the_mean_scales_every_draw() {
    let short = draws(&Distribution::exponential(1.0).unwrap(), 1000);
    let long = draws(&Distribution::exponential(4.0).unwrap(), 1000);
    assert!(
        short
            .iter()
            .zip(&long)
            .all(|(short, long)| (4.0 * short - long).abs() < 1e-8)
    );
}

#[test]
fn impossible_distributions_are_refused() {
    let impossible = [
        Distribution::fixed(-1.0),
        Distribution::fixed(1e300),
        Distribution::uniform(2.0, 1.0),
        Distribution::exponential(f64::NAN),
        Distribution::lognormal(0.0, 1.0),
        Distribution::lognormal(1.0, f64::INFINITY),
        Distribution::hyperexponential(1.1, [1.0, 1.0]),
        Distribution::empirical(&[]),
        Distribution::empirical(&[(0.0, 1.0)]),
        Distribution::empirical(&[(0.0, 1.0), (0.5, 2.0)]),
        Distribution::empirical(&[(0.0, 1.0), (1.0, 0.5)]),
        Distribution::empirical(&[(0.0, 1.0), (0.5, 1.0), (0.5, 2.0), (1.0, 2.0)]),
        Distribution::empirical(&[(0.0, 1.0), (f64::NAN, 1.0), (1.0, 2.0)]),
    ];
    for (n, distribution) in impossible.into_iter().enumerate() {
        assert!(distribution.is_err(), "{n}");
    }
    assert_eq!(
        draws(&Distribution::fixed(0.0).unwrap(), 1),
        [Span::ZERO.seconds()]
    );
}
