"""The lesson: playable timelines that show why speculative sampling is lossless. README.md says how it is made."""
