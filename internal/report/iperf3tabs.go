package report

import "bytes"

// tabbed sets compact JSON as iperf3 does: a member a line, a tab before it for
// every object and array around it, and a tab after its colon; the elements of an
// array stand on one line.
func tabbed(compact []byte) []byte {
	var out bytes.Buffer
	var open []byte // the brackets around
	newLine := func() {
		out.WriteByte('\n')
		out.Write(bytes.Repeat([]byte{'\t'}, len(open)))
	}
	quoted := false
	for i := 0; i < len(compact); i++ {
		c := compact[i]
		switch {
		case quoted && c == '\\':
			out.WriteByte(c)
			i++
			c = compact[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			out.WriteByte(c)
			open = append(open, c)
			if compact[i+1] != '}' {
				newLine()
			}
			continue
		case c == '[':
			open = append(open, c)
		case c == '}':
			open = open[:len(open)-1]
			newLine()
		case c == ']':
			open = open[:len(open)-1]
		case c == ':':
			out.WriteString(":\t")
			continue
		case c == ',' && open[len(open)-1] == '{':
			out.WriteByte(c)
			newLine()
			continue
		case c == ',':
			out.WriteString(", ")
			continue
		}
		out.WriteByte(c)
	}
	return out.Bytes()
}
