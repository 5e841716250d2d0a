//! Copies the rows of all tables, within one transaction of the target.

use kitbag_database::{TABLES, Table, Transaction};

use super::plan::Plan;
use super::{Progress, Step, TransferError};

/// Copies all rows. Returns their number.
pub(super) async fn copy(
    state: &mut Transaction,
    incoming: &mut Transaction,
    plan: &mut Plan<'_>,
    progress: &mut Progress<'_>,
) -> Result<u64, TransferError> {
    let mut total = 0;
    for table in TABLES {
        total += table.count(state).await?;
    }
    let mut done = 0;
    for table in TABLES {
        if plan.includes(table) {
            let before = done;
            let mut report = |rows: u64| progress(Step::CopyRows, before + rows, total);
            done += copy_table(table, state, incoming, plan, &mut report).await?;
        }
        // Also for tables that are not copied: ids are never reused.
        table.continue_ids(state, incoming).await?;
    }
    Ok(done)
}

async fn copy_table(
    table: &'static Table,
    state: &mut Transaction,
    incoming: &mut Transaction,
    plan: &mut Plan<'_>,
    report: &mut dyn FnMut(u64),
) -> Result<u64, TransferError> {
    let columns = table.columns(state, incoming).await?;
    table.clear(incoming).await?;
    let mut read = 0;
    let mut reader = table.read(state, &columns);
    while let Some(mut rows) = reader.next_batch().await? {
        for row in &mut rows {
            plan.adapt(table, &columns, row)?;
        }
        read += rows.len() as u64;
        table.insert(incoming, &columns, rows).await?;
        report(read);
    }
    drop(reader);
    let written = table.count_all(incoming).await?;
    if written == read {
        Ok(read)
    } else {
        Err(TransferError::Incomplete { table: table.name, read, written })
    }
}
