#!/bin/sh
# Builds the server as $1. What cargo compiles stays in its own directory, so that a second build
# is quick.
set -e
cargo build --release --locked --quiet
cp target/release/axum-peer "$1"
