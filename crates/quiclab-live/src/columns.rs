//! What a run has recorded, as files: each column as raw little-endian numbers in `columns/TABLE/NAME.bin`, and
//! the names that numbers stand for in `columns/TABLE/names.json`.

use quiclab_sim::{RunOutput, Table};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Folder of the columns in the directory of a run.
const FOLDER: &str = ".columns";

/// Writes series, packet records and taps.
///
/// # Errors
/// If the directory cannot be written to.
pub fn write(output: &RunOutput, directory: &Path) -> io::Result<()> {
    let folder = directory.join(FOLDER);
    write_table(&output.series_table(), &folder.join("series"))?;
    write_table(&output.packets_table(), &folder.join("packets"))?;
    for (name, table) in output.tap_tables() {
        write_table(&table, &folder.join("taps").join(name))?;
    }
    Ok(())
}

fn write_table(table: &Table, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, bytes) in &table.columns {
        std::fs::write(folder.join(format!("{name}.bin")), bytes)?;
    }
    let names: BTreeMap<_, _> = table.names.iter().map(|(name, names)| (name, names)).collect();
    std::fs::write(folder.join("names.json"), serde_json::to_vec(&names)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_little_endian_files_beside_their_names() {
        let table = Table::default()
            .column("time_ns", &[1_i64, -2], i64::to_le_bytes)
            .column("event", &[7_u8], |event| [event])
            .names("flow_names", ["main"]);
        let folder = std::env::temp_dir().join(format!("quiclab-columns-{}", std::process::id()));
        write_table(&table, &folder).unwrap();
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
        assert_eq!(read("time_ns.bin"), [1, 0, 0, 0, 0, 0, 0, 0, 254, 255, 255, 255, 255, 255, 255, 255]);
        assert_eq!(read("event.bin"), [7]);
        assert_eq!(read("names.json"), br#"{"flow_names":["main"]}"#);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
