"""The command `labelnoise`, which is also `python -m labelnoise`."""


def main() -> None:
    """Run the command; while its modules are still being imported, Ctrl-C ends it as quietly as later."""
    try:
        from labelnoise.cli import main as command

        command()
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # 128 and the number of the signal


if __name__ == "__main__":
    main()
