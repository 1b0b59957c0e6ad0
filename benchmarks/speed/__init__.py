"""Speed: every one beside a peer and a ceiling of the same run, and none without a check of the numbers."""
