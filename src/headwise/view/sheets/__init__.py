"""One file per sheet: pure functions from trajectories to panels, which `view.draw` draws and `view.table` writes."""
