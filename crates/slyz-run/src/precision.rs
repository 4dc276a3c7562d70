//! The precision that devices take where a program asks for none.

use crate::Error;
use slyz_sir::choices::Precision;

/// Its name.
const VARIABLE: &str = "SLYZ_PRECISION";

/// What the environment says, or else that of the operator table.
pub(crate) fn from_environment() -> Result<Precision, Error> {
    match std::env::var(VARIABLE) {
        Ok(name) if !name.is_empty() => {
            name.parse().map_err(|error| Error::Setting { variable: VARIABLE, why: format!("{error}") })
        }
        _ => Ok(Precision::default()),
    }
}
