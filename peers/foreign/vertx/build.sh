#!/bin/sh
# Builds the server as $1, a jar with all that it needs. What Maven compiles stays in target.
set -e
mvn -q -B -ntp package
cp target/peer.jar "$1"
