"""When each operation happens: dependences, schedules, ports and units."""
