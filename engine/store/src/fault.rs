//! What a user is told of a failed statement, where no caller knows better.

use schema::Fault;

use crate::Error;

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        match &error {
            Error::Retry(_) => Fault::retry(error),
            Error::Lost(_) | Error::ReadOnly | Error::Closed => Fault::unavailable(error),
            // What is stored was looked at before; another request came in between, and the next run sees what it did.
            Error::Duplicate { .. } => {
                let message = "Another request stored the same unique values first.";
                Fault::conflict("Conflict", message).with_source(error).or_again()
            }
            Error::ForeignKey { .. } => {
                let message = "The object refers to one that is gone by now, or is still in use by another.";
                Fault::conflict("Conflict", message).with_source(error).or_again()
            }
            Error::Characters(_) => {
                let message = "A text of the request has a character that the database cannot keep; leave out characters beyond the Basic \
                               Multilingual Plane (emoji among them), or have the administrator change the database to utf8mb4.";
                Fault::invalid_input(message).with_source(error)
            }
            _ => Fault::internal(error),
        }
    }
}
