"""Tables made from records; nothing here trains."""
