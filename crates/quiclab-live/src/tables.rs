//! Records of a run as Arrow IPC files: `series.arrow`, `packets.arrow`, `taps/NAME.arrow`.

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;
use quiclab_sim::RunOutput;
use std::fs::File;
use std::io;
use std::path::Path;

/// Folder of the tables in the directory of a run.
const FOLDER: &str = ".tables";

/// Writes series, packet records and taps.
///
/// # Errors
/// If the directory cannot be written to.
pub fn write(output: &RunOutput, directory: &Path) -> io::Result<()> {
    let folder = directory.join(FOLDER);
    let taps = folder.join("taps");
    std::fs::create_dir_all(&taps)?;
    write_table(&output.series_table(), &folder.join("series.arrow"))?;
    write_table(&output.packets_table(), &folder.join("packets.arrow"))?;
    for (name, table) in output.tap_tables() {
        write_table(&table, &taps.join(format!("{name}.arrow")))?;
    }
    Ok(())
}

fn write_table(table: &RecordBatch, path: &Path) -> io::Result<()> {
    let write = || {
        let mut writer = FileWriter::try_new_buffered(File::create(path)?, &table.schema())?;
        writer.write(table)?;
        writer.finish()
    };
    write().map_err(|error| match error {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    })
}
