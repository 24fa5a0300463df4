"""sslyze against the server's own choice of TLS. Arguments: the URL of the server, an id that is
not used, the file of the authority."""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import sslyze
from sslyze import ScanCommand, Scanner, ServerNetworkConfiguration, ServerNetworkLocation, ServerScanRequest
from sslyze.plugins.certificate_info.implementation import CertificateInfoExtraArgument
from sslyze.scanner.models import ServerScanStatusEnum
from sslyze.scanner.scan_command_attempt import ScanCommandAttemptStatusEnum
from sslyze.scanner.models import ScanCommandsExtraArguments

at = urlsplit(sys.argv[1])
location = ServerNetworkLocation(hostname="localhost", port=at.port, ip_address=at.hostname)
extra = ScanCommandsExtraArguments(certificate_info=CertificateInfoExtraArgument(custom_ca_file=Path(sys.argv[3])))
scanner = Scanner()
scanner.queue_scans([ServerScanRequest(server_location=location, network_configuration=ServerNetworkConfiguration("localhost", network_timeout=30), scan_commands_extra_arguments=extra)])
(result,) = scanner.get_results()
assert result.scan_status == ServerScanStatusEnum.COMPLETED, result.connectivity_error_trace
failed = False


def of(name):
    attempt = getattr(result.scan_result, name)
    assert attempt.status == ScanCommandAttemptStatusEnum.COMPLETED, f"{name}: {attempt.error_reason} {attempt.error_trace}"
    return attempt.result


def case(name, check):
    global failed
    try:
        check()
        print("ok", name)
    except Exception as e:
        failed = True
        print(f"not ok {name}: {e!r}")


def protocols():
    for old in ("ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1"):
        assert not of(old + "_cipher_suites").accepted_cipher_suites, old
    assert of("tls_1_3_cipher_suites").accepted_cipher_suites, "no TLS 1.3"


def suites():
    for version in ("tls_1_2", "tls_1_3"):
        for suite in of(version + "_cipher_suites").accepted_cipher_suites:
            name = suite.cipher_suite.name
            print("#", version, name)
            assert version == "tls_1_3" or name.startswith("TLS_ECDHE_"), f"{name} has no forward secrecy"
            assert not any(bad in name for bad in ("3DES", "RC4", "NULL", "EXPORT")), name


def keys():
    curves = [c.name for c in of("elliptic_curves").supported_curves or []]
    print("# curves", *curves)
    assert "X25519" in curves and "prime192v1" not in curves, curves


def flaws():
    flags = {
        "heartbleed": of("heartbleed").is_vulnerable_to_heartbleed,
        "ccs injection": of("openssl_ccs_injection").is_vulnerable_to_ccs_injection,
        "compression": of("tls_compression").supports_compression,
        "client renegotiation": of("session_renegotiation").is_vulnerable_to_client_renegotiation_dos,
        "early data": of("tls_1_3_early_data").supports_early_data,
        "robot": of("robot").robot_result.name.startswith("VULNERABLE"),
        "no fallback scsv": not of("tls_fallback_scsv").supports_fallback_scsv,
    }
    print("#", flags)
    assert not any(flags.values()), flags


def ca():
    (deployment,) = of("certificate_info").certificate_deployments
    ours = [p for p in deployment.path_validation_results if p.trust_store.path == Path(sys.argv[3])]
    others = [p for p in deployment.path_validation_results if p not in ours]
    assert ours and ours[0].was_validation_successful, ours
    assert not any(p.was_validation_successful for p in others), "a public authority"


print("# sslyze", sslyze.__version__.__version__)
for check in (protocols, suites, keys, flaws, ca):
    case(check.__name__, check)
sys.exit(failed)
