"""Experiments: study files and the protocol by which a study is run."""
