//! Student's t distribution, from statrs: all that intervals and tests of means need of scipy, whose 140 MB it saves.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Degrees of freedom up to which statrs has quantiles to nine digits.
const EXACT: f64 = 1e4;

/// Quantiles of the distribution with as many degrees of freedom; NaN for NaN.
///
/// # Errors
///
/// Degrees of freedom that are not above 0, a probability outside of 0 to 1.
#[pyfunction]
pub(crate) fn student_t_quantile(freedom: Vec<f64>, probability: f64) -> PyResult<Vec<f64>> {
    if !(0.0..=1.0).contains(&probability) {
        return Err(PyValueError::new_err(format!("probability: expected 0 to 1, got {probability}")));
    }
    // beyond, statrs becomes inexact, then does not end; the first term of Cornish and Fisher's expansion is exact to 1e-8
    let quantile = |freedom: f64| {
        if freedom <= EXACT {
            return of(freedom, |t| t.inverse_cdf(probability));
        }
        let z = Normal::standard().inverse_cdf(probability);
        Ok(if z.is_finite() { z + z * (z * z + 1.0) / (4.0 * freedom) } else { z })
    };
    freedom
        .into_iter()
        .map(|freedom| if freedom.is_nan() { Ok(f64::NAN) } else { quantile(freedom) })
        .collect()
}

/// Probabilities of values up to `values`, one for each number of degrees of freedom; NaN where either is NaN.
///
/// # Errors
///
/// Degrees of freedom that are not above 0, lists of different lengths.
#[pyfunction]
pub(crate) fn student_t_cdf(freedom: Vec<f64>, values: Vec<f64>) -> PyResult<Vec<f64>> {
    if freedom.len() != values.len() {
        let (expected, got) = (freedom.len(), values.len());
        return Err(PyValueError::new_err(format!("values: expected {expected} of them, got {got}")));
    }
    let probability = |value: f64| move |t: StudentsT| if value.is_nan() { f64::NAN } else { t.cdf(value) };
    freedom.into_iter().zip(values).map(|(freedom, value)| of(freedom, probability(value))).collect()
}

fn of(freedom: f64, value: impl FnOnce(StudentsT) -> f64) -> PyResult<f64> {
    if freedom.is_nan() {
        return Ok(f64::NAN);
    }
    let of = |_| PyValueError::new_err(format!("freedom: expected more than 0, got {freedom}"));
    Ok(value(StudentsT::new(0.0, 1.0, freedom).map_err(of)?))
}
