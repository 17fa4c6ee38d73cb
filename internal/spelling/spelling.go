// Package spelling tells how far apart two names are, so that an error can
// name what was probably meant. It is a leaf package: configuration, models
// and file tools all use it.
package spelling

// Distance counts the bytes to add, drop or change to get from a to b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
