use schema::Fault;

/// A create would take the project over its limit.
pub fn over_quota(kind: &str, project: &str, limit: i64, used: i64, wanted: i64) -> Fault {
    let fault = Fault::conflict("OverQuota", format!("Quota exceeded for resources: ['{kind}']."));
    fault.with_detail(format!(
        "Project {project} has {used} of at most {limit}, and {wanted} more was asked for; remove some, or ask for a higher quota."
    ))
}

pub fn no_own_quota(project: &str) -> Fault {
    Fault::not_found("TenantQuotaNotFound", format!("Quota for project {project} could not be found."))
}

pub fn no_project() -> Fault {
    Fault::new(400, "QuotaMissingTenant", "The request belongs to no project; ask with a token of a project.")
}

pub fn others_details(project: &str) -> Fault {
    let message = format!(
        "User does not have admin privileges: only an administrator may see what project {project} has, besides its own members."
    );
    Fault::new(403, "AdminRequired", message)
}

pub fn below_use(kind: &str, limit: i64, used: i64) -> Fault {
    Fault::bad_request(format!(
        "Quota limit {limit} for {kind} must be greater than or equal to already used {used}; remove some first, or send \"force\": true."
    ))
}

pub fn no_number(value: &str) -> Fault {
    Fault::invalid_input(format!("Invalid input for operation: '{value}' is not an integer."))
}

pub fn out_of_range(kind: &str, value: &str, smallest: bool) -> Fault {
    let why = if smallest {
        "is too small - must be at least '-1'".to_owned()
    } else {
        format!("is too large - must be no larger than '{}'", i32::MAX)
    };
    Fault::bad_request(format!("Invalid input for {kind}. Reason: '{value}' {why}."))
}

pub fn unknown(names: &[&str]) -> Fault {
    Fault::bad_request(format!("Unrecognized attribute(s) '{}'", names.join(", ")))
}
