//! Access to the rows of any table, for copying a whole service to another database.

use futures::TryStreamExt;
use futures::stream::BoxStream;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::builder::StatementBuilder;
use super::holder::Holder;
use super::statement::in_time;
use super::tables::Table;
use super::value::Value;
use super::{Open, Result, Transaction, sql};

/// Batch limits: a batch ends at this number of rows, or with the row that reaches this number of bytes.
const BATCH_ROWS: usize = 500;
const BATCH_BYTES: usize = 2 << 20;

/// The values of a row, in the order of the columns.
pub type Row = Vec<Value<'static>>;

/// A stored (not generated) column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Column name.
    pub name: String,
    kind: Kind,
}

/// Column type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Integer,
    Boolean,
    Text,
    Bytes,
}

/// Stream of the rows of a table, in batches.
pub struct Reader<'t> {
    rows: Rows<'t>,
    columns: &'t [Column],
}

enum Rows<'t> {
    Sqlite(BoxStream<'t, sqlx::Result<SqliteRow>>),
    Postgres(BoxStream<'t, sqlx::Result<PgRow>>),
}

/// Decodes the values of a row according to the column types.
macro_rules! values {
    ($row:ident, $columns:expr) => {{
        let value = |(index, column): (usize, &Column)| -> sqlx::Result<Value<'static>> {
            Ok(match column.kind {
                Kind::Integer => Value::Integer($row.try_get(index)?),
                Kind::Boolean => Value::Boolean($row.try_get(index)?),
                Kind::Text => $row.try_get::<Option<String>, _>(index)?.into(),
                Kind::Bytes => Value::Bytes($row.try_get::<Option<Vec<u8>>, _>(index)?.map(Into::into)),
            })
        };
        $columns.iter().enumerate().map(value).collect::<sqlx::Result<Row>>()?
    }};
}

impl Reader<'_> {
    /// Returns the next rows; `None` at the end.
    pub async fn next_batch(&mut self) -> Result<Option<Vec<Row>>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some(row) = self.next().await? else { break };
            bytes += row.iter().map(Value::size).sum::<usize>();
            batch.push(row);
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    async fn next(&mut self) -> Result<Option<Row>> {
        Ok(match &mut self.rows {
            Rows::Sqlite(rows) => match in_time(rows.try_next()).await? {
                Some(row) => Some(values!(row, self.columns)),
                None => None,
            },
            Rows::Postgres(rows) => match in_time(rows.try_next()).await? {
                Some(row) => Some(values!(row, self.columns)),
                None => None,
            },
        })
    }
}

impl Table {
    /// Returns the stored columns of `target`, in its order, with the types to copy: boolean where either
    /// database has a boolean. Fails if `source` lacks a column.
    pub async fn columns(&self, source: &mut Transaction, target: &mut Transaction) -> Result<Vec<Column>> {
        let of_source = columns(source, self.name).await?;
        let mut columns = columns(target, self.name).await?;
        for column in &mut columns {
            let missing = || sqlx::Error::ColumnNotFound(format!("{}.{}", self.name, column.name));
            let same = of_source.iter().find(|other| other.name == column.name).ok_or_else(missing)?;
            if same.kind == Kind::Boolean {
                column.kind = Kind::Boolean;
            }
        }
        Ok(columns)
    }

    /// Reads the rows to be copied.
    pub fn read<'t>(&self, source: &'t mut Transaction, columns: &'t [Column]) -> Reader<'t> {
        let expressions: Vec<_> = columns.iter().map(|column| self.expression(column)).collect();
        let text = format!("SELECT {} FROM {}{}", expressions.join(", "), self.name, self.filter());
        let text = AssertSqlSafe(text);
        let rows = match &mut source.0 {
            Open::Sqlite(source) => Rows::Sqlite(sqlx::query(text).persistent(false).fetch(&mut **source)),
            Open::Postgres(source, _) => {
                Rows::Postgres(sqlx::query(text).persistent(false).fetch(&mut **source))
            }
        };
        Reader { rows, columns }
    }

    /// Returns the number of rows to be copied.
    pub async fn count(&self, source: &mut Transaction) -> Result<u64> {
        count(source, format!("SELECT count(*) FROM {}{}", self.name, self.filter())).await
    }

    /// Returns the number of all rows in `target`.
    pub async fn count_all(&self, target: &mut Transaction) -> Result<u64> {
        count(target, format!("SELECT count(*) FROM {}", self.name)).await
    }

    /// Returns whether the table has rows. Always false for tables that have rows in a new database.
    pub async fn is_used(&self, target: &mut Transaction) -> Result<bool> {
        if self.is_never_empty {
            return Ok(false);
        }
        let used = format!("SELECT EXISTS (SELECT 1 FROM {})", self.name);
        sql(AssertSqlSafe(used)).fetch_value(target).await
    }

    /// Deletes the rows that a new database contains.
    pub async fn clear(&self, target: &mut Transaction) -> Result<()> {
        if self.is_never_empty {
            sql(AssertSqlSafe(format!("DELETE FROM {}", self.name))).execute(target).await?;
        }
        Ok(())
    }

    /// Inserts rows. Requires at least one.
    pub async fn insert(&self, target: &mut Transaction, columns: &[Column], rows: Vec<Row>) -> Result<()> {
        let names: Vec<_> = columns.iter().map(|column| quoted(&column.name)).collect();
        let into = format!("INSERT INTO {} ({}) ", self.name, names.join(", "));
        let mut statement = StatementBuilder::of(into);
        statement.push_values(rows, |mut row, values| {
            for value in values {
                row.push_bind(value);
            }
        });
        statement.build().uncached().execute(target).await?;
        Ok(())
    }

    /// Continues the id counter after the last id of the source, even if the source has deleted its last
    /// rows.
    pub async fn continue_ids(&self, source: &mut Transaction, target: &mut Transaction) -> Result<()> {
        let Some(column) = self.ids else { return Ok(()) };
        let last = last_id(source, self.name, column).await?;
        if last == 0 {
            return Ok(());
        }
        match &target.0 {
            Open::Sqlite(_) => {
                // Tables without `AUTOINCREMENT` continue after their last row.
                let counts = "SELECT EXISTS (SELECT 1 FROM sqlite_schema
                    WHERE type = 'table' AND name = $1 AND sql LIKE '%AUTOINCREMENT%')";
                if sql(counts).bind(self.name).fetch_value(&mut *target).await? {
                    sql("DELETE FROM sqlite_sequence WHERE name = $1")
                        .bind(self.name)
                        .execute(&mut *target)
                        .await?;
                    sql("INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)")
                        .bind(self.name)
                        .bind(last)
                        .execute(target)
                        .await?;
                }
            }
            Open::Postgres(..) => {
                sql("SELECT setval(pg_get_serial_sequence($1, $2)::REGCLASS, $3)")
                    .bind(self.name)
                    .bind(column)
                    .bind(last)
                    .execute(target)
                    .await?;
            }
        }
        Ok(())
    }

    /// Returns the user ids in the table, those of holders too.
    pub async fn users(&self, source: &mut Transaction) -> Result<Vec<String>> {
        let texts = |column: &&str| format!("SELECT {column} FROM {} WHERE {column} IS NOT NULL", self.name);
        let mut users = distinct(source, self.users.iter().map(texts).collect()).await?;
        if self.has_holders {
            let holders = distinct(source, vec![format!("SELECT holder FROM {}", self.name)]).await?;
            users
                .extend(holders.into_iter().filter_map(|key| Holder::from(key).user_id().map(str::to_owned)));
        }
        Ok(users)
    }

    fn expression(&self, column: &Column) -> String {
        match self.replaced.iter().find(|(name, _)| *name == column.name) {
            Some((_, expression)) => (*expression).to_owned(),
            None => quoted(&column.name),
        }
    }

    fn filter(&self) -> String {
        if self.condition.is_empty() { String::new() } else { format!(" WHERE {}", self.condition) }
    }
}

impl Transaction {
    /// Disables the server's timeouts for long statements and idle transactions in this transaction, for
    /// copying a whole database.
    pub async fn take_long(&mut self) -> Result<()> {
        match &mut self.0 {
            Open::Sqlite(_) => {}
            Open::Postgres(transaction, _) => {
                let limits =
                    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0";
                sqlx::raw_sql(limits).execute(&mut **transaction).await?;
            }
        }
        Ok(())
    }
}

impl Value<'_> {
    /// Returns the approximate size in memory, in bytes.
    fn size(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Text(Some(text)) => text.len(),
                Self::Bytes(Some(bytes)) => bytes.len(),
                _ => 0,
            }
    }
}

/// Returns the stored columns of a table, without generated ones.
async fn columns(transaction: &mut Transaction, table: &str) -> Result<Vec<Column>> {
    let columns = match &transaction.0 {
        Open::Sqlite(_) => {
            sql("SELECT name, lower(type) FROM pragma_table_xinfo($1) WHERE hidden = 0 ORDER BY cid")
        }
        Open::Postgres(..) => sql(
            "SELECT CAST(column_name AS TEXT), CAST(data_type AS TEXT) FROM information_schema.columns
             WHERE table_schema = current_schema() AND CAST(table_name AS TEXT) = $1 AND is_generated = 'NEVER'
             ORDER BY ordinal_position",
        ),
    };
    let columns: Vec<(String, String)> = columns.bind(table).fetch_all(transaction).await?;
    let column = |(name, kind): (String, String)| -> Result<Column> {
        let kind = match kind.as_str() {
            "integer" | "bigint" => Kind::Integer,
            "boolean" => Kind::Boolean,
            "text" => Kind::Text,
            "blob" | "bytea" => Kind::Bytes,
            _ => return Err(sqlx::Error::TypeNotFound { type_name: kind }.into()),
        };
        Ok(Column { name, kind })
    };
    columns.into_iter().map(column).collect()
}

/// Returns the last assigned id; 0 if none.
async fn last_id(source: &mut Transaction, table: &'static str, column: &'static str) -> Result<i64> {
    match &source.0 {
        Open::Sqlite(_) => {
            let last = format!(
                "SELECT max((SELECT coalesce(max({column}), 0) FROM {table}),
                            (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = $1))"
            );
            sql(AssertSqlSafe(last)).bind(table).fetch_value(source).await
        }
        Open::Postgres(..) => {
            sql("SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, $2)::REGCLASS), 0)")
                .bind(table)
                .bind(column)
                .fetch_value(source)
                .await
        }
    }
}

async fn count(transaction: &mut Transaction, text: String) -> Result<u64> {
    let rows: i64 = sql(AssertSqlSafe(text)).unhurried().fetch_value(transaction).await?;
    Ok(u64::try_from(rows).unwrap_or_default())
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Distinct texts that these statements select.
async fn distinct(source: &mut Transaction, selects: Vec<String>) -> Result<Vec<String>> {
    if selects.is_empty() {
        return Ok(Vec::new());
    }
    // `DISTINCT`, as `UNION` removes duplicates only with several columns.
    let text = format!("SELECT DISTINCT * FROM ({}) AS texts", selects.join(" UNION "));
    sql(AssertSqlSafe(text)).unhurried().fetch_values(source).await
}
