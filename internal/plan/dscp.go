package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// dscpNames are the code points with a name beyond CS0 to CS7 and AF11 to AF43
// (RFC 3246, RFC 5865, RFC 8622).
var dscpNames = map[string]uint8{"DF": 0, "BE": 0, "LE": 1, "VA": 44, "EF": 46}

// ParseDSCP parses a code point, as a number from 0 to 63 (46, 0x2e) or by its
// name in either case (EF, AF41, CS5), and returns the byte of the IP header
// that carries it, code point << 2 (RFC 2474), with no ECN.
func ParseDSCP(s string) (uint8, error) {
	name := strings.ToUpper(s)
	if dscp, ok := dscpNames[name]; ok {
		return dscp << 2, nil
	}
	if class, ok := strings.CutPrefix(name, "CS"); ok && len(class) == 1 && class >= "0" && class <= "7" {
		return (class[0] - '0') << 3 << 2, nil
	}
	if af, ok := strings.CutPrefix(name, "AF"); ok && len(af) == 2 && af[0] >= '1' && af[0] <= '4' && af[1] >= '1' && af[1] <= '3' {
		return ((af[0]-'0')<<3 | (af[1]-'0')<<1) << 2, nil
	}
	digits, base := name, 10
	if hex, ok := strings.CutPrefix(name, "0X"); ok {
		digits, base = hex, 16
	}
	if dscp, err := strconv.ParseUint(digits, base, 8); err == nil && dscp <= 63 {
		return uint8(dscp) << 2, nil
	}
	return 0, fmt.Errorf("%q is not a DSCP; write 0 to 63, 0x2e, EF, AF41 or CS5", s)
}
