"""Programs that a fault starts as child processes, without site-packages."""
