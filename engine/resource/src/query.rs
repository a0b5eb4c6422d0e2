use schema::{Attr, Fault, Model, Place};

/// Order of one sort key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    pub key: String,
    pub direction: Direction,
}

/// What a list asks for.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Name and values; values of one name are alternatives.
    pub filters: Vec<(String, Vec<String>)>,
    pub sorts: Vec<Sort>,
    pub limit: Option<usize>,
    pub marker: Option<String>,
    pub reverse: bool,
    /// Attributes to answer with; empty for all.
    pub fields: Vec<String>,
}

impl Query {
    /// Reads the decoded pairs of a query string. Words of the protocol are taken out; the rest are filters, checked later
    /// against the resource. Faults are those of the reference.
    pub fn parse(pairs: &[(String, String)]) -> Result<Query, Fault> {
        let mut query = Query::default();
        let mut keys = Vec::new();
        let mut directions = Vec::new();
        let mut limit = None;
        for (name, value) in pairs {
            match name.as_str() {
                "fields" => {
                    if !value.is_empty() {
                        query.fields.push(value.clone());
                    }
                }
                "sort_key" | "sort_dir" if value.is_empty() => {}
                "sort_key" => keys.push(value.clone()),
                "sort_dir" => directions.push(value.clone()),
                "limit" => limit = Some(value),
                "marker" => query.marker = (!value.is_empty()).then(|| value.clone()),
                "page_reverse" => query.reverse = value.eq_ignore_ascii_case("true"),
                _ => {
                    let name = if name == "tenant_id" { "project_id" } else { name.as_str() };
                    match query.filters.iter_mut().find(|(key, _)| key == name) {
                        Some((_, values)) => values.push(value.clone()),
                        None => query.filters.push((name.to_owned(), vec![value.clone()])),
                    }
                }
            }
        }
        if keys.len() != directions.len() {
            return Err(Fault::new(400, "HTTPBadRequest", "The number of sort_keys and sort_dirs must be same."));
        }
        for (key, direction) in keys.into_iter().zip(directions) {
            let direction = match direction.as_str() {
                "asc" => Direction::Ascending,
                "desc" => Direction::Descending,
                other => {
                    let message = format!("'{other}' is no sort_dir; use 'asc' or 'desc'.");
                    return Err(Fault::new(400, "HTTPBadRequest", message));
                }
            };
            let key = if key == "tenant_id" { "project_id".to_owned() } else { key };
            query.sorts.push(Sort { key, direction });
        }
        if let Some(limit) = limit {
            query.limit = parse_limit(limit)?;
        }
        Ok(query)
    }

    pub fn filter(&self, name: &str) -> Option<&[String]> {
        self.filters.iter().find(|(key, _)| key == name).map(|(_, values)| values.as_slice())
    }
}

fn parse_limit(text: &str) -> Result<Option<usize>, Fault> {
    match text.trim().parse::<i64>() {
        Ok(0) => Ok(None),
        Ok(limit) if limit > 0 => Ok(Some(usize::try_from(limit).unwrap_or(usize::MAX))),
        _ => Err(Fault::new(400, "BadRequest", format!("'{text}' is no limit; use a number from 0 on."))),
    }
}

/// The column an attribute sorts and filters by, with its table's name; None if it has none.
pub(crate) fn column(model: &Model, shared_table: &str, attr: &Attr) -> Option<String> {
    match attr.place {
        Place::Own(column) => Some(format!("{}.\"{column}\"", model.resource.table)),
        Place::Shared(column) => Some(format!("{shared_table}.\"{column}\"")),
        Place::Side { table, column, .. } => Some(format!("{table}.\"{column}\"")),
        Place::Child { .. } | Place::Computed => None,
    }
}
