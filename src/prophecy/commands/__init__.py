"""The commands, one file each: a module with `register(app)`, which adds its command or group to the application."""
