use schema::Fault;

pub fn not_found(tag: &str) -> Fault {
    Fault::not_found("TagNotFound", format!("Tag {tag} could not be found."))
}

pub fn invalid_body() -> Fault {
    Fault::invalid_input("Invalid input for operation: Invalid tags body; send {\"tags\": [...]} with a list of texts.")
}

pub fn invalid(why: &str) -> Fault {
    Fault::invalid_input(format!("Invalid input for operation: {why}."))
}

pub fn too_many(plural: &str, most: usize) -> Fault {
    let message = format!("Bad {plural} request: The number of tags exceed the per-resource limit of {most}.");
    Fault::new(400, "BadRequest", message)
}

pub fn stale(id: &str, expected: i64) -> Fault {
    let message = format!(
        "Constrained to {expected}, but the revision of {id} is another by now; read it again and repeat the change."
    );
    Fault::new(412, "RevisionNumberConstraintFailed", message)
}
