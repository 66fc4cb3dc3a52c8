//! The catalogue of variables, parsed once from `catalogue/variables.toml`.

use std::sync::OnceLock;

const SOURCE: &str = include_str!("../../../catalogue/variables.toml");

/// What sort of quantity a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Says who or what a row is about.
    Identity,
    /// Counts events up.
    Counter,
    /// Adds up time or volume.
    Accumulator,
    /// A value now.
    Level,
    /// A value that belongs to the row itself.
    Measure,
}

/// How a column is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Signed, 64 bits.
    Int,
    /// UTF-8.
    Text,
    /// 64 bits.
    Float,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    pub name: String,
    pub kind: Kind,
    pub column_type: ColumnType,
    /// The unit of the stored number; empty where it has none.
    pub unit: String,
    pub meaning: String,
    /// Where Linux gives it; empty where the catalogue does not say.
    pub linux: String,
    /// Of text: the rule by which it is pseudonymised.
    pub names: String,
}

/// One table: the common columns first, then its own in the catalogue's order; derived variables are not stored and left out.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDefinition {
    pub name: String,
    pub columns: Vec<ColumnDefinition>,
}

impl TableDefinition {
    /// Place of a column in a row, by name.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == column)
    }
}

/// Every table that a recording can hold.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    tables: Vec<TableDefinition>,
}

impl Catalogue {
    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&TableDefinition> {
        self.tables.iter().find(|t| t.name == name)
    }

    /// All tables in the catalogue's order.
    pub fn tables(&self) -> impl Iterator<Item = &TableDefinition> {
        self.tables.iter()
    }

    /// Reads a catalogue from TOML text; the error says what is wrong and where.
    fn parse(text: &str) -> Result<Self, String> {
        let document: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        let mut common = Vec::new();
        let mut tables = Vec::new();
        for (scope, value) in &document {
            let toml::Value::Table(variables) = value else {
                continue;
            };
            let mut columns = if scope == "common" {
                Vec::new()
            } else {
                common.clone()
            };
            for (name, fields) in variables {
                columns.extend(column(name, fields).map_err(|e| format!("[{scope}.{name}]: {e}"))?);
            }
            if scope == "common" {
                common = columns;
            } else if columns.len() > common.len() {
                // A scope of derived variables only is no table.
                tables.push(TableDefinition {
                    name: scope.clone(),
                    columns,
                });
            }
        }
        Ok(Catalogue { tables })
    }
}

/// One variable; none if it is derived.
fn column(name: &str, fields: &toml::Value) -> Result<Option<ColumnDefinition>, String> {
    let text = |key: &str| fields.get(key).and_then(toml::Value::as_str);
    let kind = match text("kind").ok_or("no kind")? {
        "derived" => return Ok(None),
        "identity" => Kind::Identity,
        "counter" => Kind::Counter,
        "accumulator" => Kind::Accumulator,
        "level" => Kind::Level,
        "measure" => Kind::Measure,
        other => return Err(format!("unknown kind {other:?}")),
    };
    let column_type = match (text("type"), kind) {
        (Some("int"), _) => ColumnType::Int,
        (Some("text"), _) => ColumnType::Text,
        (Some("float"), _) => ColumnType::Float,
        (Some(other), _) => return Err(format!("unknown type {other:?}")),
        (None, Kind::Identity) => ColumnType::Text,
        (None, _) => ColumnType::Int,
    };
    let owned = |key: &str| text(key).unwrap_or_default().to_owned();
    let meaning = text("meaning").ok_or("no meaning")?.to_owned();
    Ok(Some(ColumnDefinition {
        name: name.to_owned(),
        kind,
        column_type,
        unit: owned("unit"),
        meaning,
        linux: owned("linux"),
        names: owned("names"),
    }))
}

/// The catalogue that was compiled in.
///
/// # Panics
/// If the compiled-in text is not a catalogue, which a test of this crate rules out.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| Catalogue::parse(SOURCE).expect("catalogue/variables.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_columns_come_first_and_order_is_kept() {
        let text = r#"
            [common.time_ns]
            kind = "identity"
            type = "int"
            meaning = "t"
            [zebra.name]
            kind = "identity"
            meaning = "n"
            [zebra.b]
            kind = "counter"
            unit = "pages"
            meaning = "b"
            linux = "/proc/b"
            [zebra.a]
            kind = "level"
            type = "float"
            meaning = "a"
            [zebra.rate]
            kind = "derived"
            formula = "d_b / period_s"
            meaning = "r"
        "#;
        let parsed = Catalogue::parse(text).unwrap();
        let zebra = parsed.table("zebra").unwrap();
        let names: Vec<_> = zebra
            .columns
            .iter()
            .map(|c| (c.name.as_str(), c.column_type))
            .collect();
        assert_eq!(
            names,
            [
                ("time_ns", ColumnType::Int),
                ("name", ColumnType::Text),
                ("b", ColumnType::Int),
                ("a", ColumnType::Float)
            ]
        );
        assert_eq!(zebra.columns[2].unit, "pages");
        assert_eq!(zebra.columns[2].linux, "/proc/b");
        assert_eq!(zebra.columns[2].kind, Kind::Counter);
        assert_eq!(zebra.position("a"), Some(3));
        assert_eq!(zebra.position("rate"), None);
    }

    #[test]
    fn an_unknown_kind_or_type_is_named_with_its_place() {
        let error = Catalogue::parse("[t.c]\nkind = \"gauge\"\nmeaning = \"x\"").unwrap_err();
        assert!(error.contains("[t.c]") && error.contains("gauge"), "{error}");
        let error =
            Catalogue::parse("[t.c]\nkind = \"level\"\ntype = \"real\"\nmeaning = \"x\"").unwrap_err();
        assert!(error.contains("real"), "{error}");
    }

    #[test]
    fn the_shipped_catalogue_holds_the_tables_of_the_format() {
        let names: Vec<_> = catalogue().tables().map(|t| t.name.as_str()).collect();
        for table in [
            "system",
            "processor",
            "device",
            "cgroup",
            "user",
            "task",
            "lock",
            "transaction",
            "thermometer",
            "event",
        ] {
            assert!(names.contains(&table), "{table} is not among {names:?}");
        }
        for table in catalogue().tables() {
            let first: Vec<_> = table.columns[..3].iter().map(|c| c.name.as_str()).collect();
            assert_eq!(first, ["time_ns", "monotonic_ns", "run"], "{}", table.name);
        }
    }
}
