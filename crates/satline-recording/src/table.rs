//! Tables whose rows are structures: a column has its name once, as a field.

use satline_program::Error;

use crate::rows::{ColumnId, TableId};
use crate::writer::RecordingWriter;

/// What a column can hold; none of it is null.
pub trait Value {
    fn put(&self, writer: &mut RecordingWriter, column: ColumnId);
}

impl Value for i64 {
    fn put(&self, writer: &mut RecordingWriter, column: ColumnId) {
        writer.set(column, *self);
    }
}

impl Value for f64 {
    fn put(&self, writer: &mut RecordingWriter, column: ColumnId) {
        writer.set_float(column, *self);
    }
}

impl Value for &str {
    fn put(&self, writer: &mut RecordingWriter, column: ColumnId) {
        writer.set_text(column, self);
    }
}

impl Value for String {
    fn put(&self, writer: &mut RecordingWriter, column: ColumnId) {
        writer.set_text(column, self);
    }
}

impl Value for char {
    fn put(&self, writer: &mut RecordingWriter, column: ColumnId) {
        writer.set_text(column, self.encode_utf8(&mut [0; 4]));
    }
}

impl<T: Value> Value for Option<T> {
    fn put(&self, writer: &mut RecordingWriter, column: ColumnId) {
        if let Some(value) = self {
            value.put(writer, column);
        }
    }
}

/// Columns of one row; made by [`row!`](crate::row).
pub trait Row {
    const COLUMNS: &'static [&'static str];

    /// Sets the columns, which are those of `COLUMNS`.
    fn put(&self, writer: &mut RecordingWriter, columns: &[ColumnId]);
}

/// A structure that is a [`Row`]: each field is the column of its name, or of the name that is said after `as`; those behind a
/// semicolon are none.
#[macro_export]
macro_rules! row {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $column:literal) => { $column };
    ($(#[$about:meta])* $vis:vis struct $row:ident $(<$life:lifetime>)? {
        $($(#[$of:meta])* $seen:vis $field:ident: $kind:ty $(as $column:literal)?,)*
        $(; $($(#[$other_of:meta])* $other_seen:vis $other:ident: $other_kind:ty,)*)?
    }) => {
        $(#[$about])*
        $vis struct $row $(<$life>)? {
            $($(#[$of])* $seen $field: $kind,)*
            $($($(#[$other_of])* $other_seen $other: $other_kind,)*)?
        }

        impl $(<$life>)? $crate::Row for $row $(<$life>)? {
            const COLUMNS: &'static [&'static str] = &[$($crate::row!(@name $field $($column)?)),*];

            fn put(&self, writer: &mut $crate::RecordingWriter, columns: &[$crate::ColumnId]) {
                let &[$($field),*] = columns else {
                    panic!("{} columns for a row of {}", columns.len(), Self::COLUMNS.len());
                };
                $($crate::Value::put(&self.$field, writer, $field);)*
            }
        }
    };
}

row! {
    /// Something that happened, as the table `event` has it of every writer.
    #[derive(Debug, Clone, Copy, Default)]
    pub struct EventRow<'a> {
        /// The writer.
        pub source: &'a str,
        pub event: &'a str,
        pub value: Option<f64>,
        pub text: Option<&'a str>,
    }
}

/// A table of one writer, and those of its columns that have an order here.
#[derive(Debug)]
pub struct Table {
    id: TableId,
    columns: Vec<ColumnId>,
}

impl Table {
    /// # Errors
    /// The catalogue lacks the table or a column.
    pub fn open<'a>(
        writer: &mut RecordingWriter,
        name: &str,
        columns: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Error> {
        let id = writer.table(name)?;
        let columns = columns.into_iter().map(|column| writer.column(id, column));
        let columns = columns.collect::<Result<_, _>>()?;
        Ok(Self { id, columns })
    }

    /// With the columns of a structure.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub fn of<R: Row>(writer: &mut RecordingWriter, name: &str) -> Result<Self, Error> {
        Self::open(writer, name, R::COLUMNS.iter().copied())
    }

    /// Adds the row of a structure. Times are real and monotonic, ns.
    pub fn write(&self, writer: &mut RecordingWriter, at_ns: (i64, i64), row: &impl Row) {
        self.row(writer, at_ns, |writer, columns| row.put(writer, columns));
    }

    /// Adds a row that `fill` sets by the columns in their order.
    pub fn row(
        &self,
        writer: &mut RecordingWriter,
        (time_ns, monotonic_ns): (i64, i64),
        fill: impl FnOnce(&mut RecordingWriter, &[ColumnId]),
    ) {
        writer.begin_row(self.id, time_ns, monotonic_ns);
        fill(writer, &self.columns);
        writer.end_row(self.id);
    }

    /// The columns, in their order.
    pub fn columns(&self) -> &[ColumnId] {
        &self.columns
    }
}
