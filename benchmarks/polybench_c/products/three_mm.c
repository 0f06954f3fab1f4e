/* PolyBench 3mm: G = (A B) (C D). */
void three_mm(float A[restrict P][Q], float B[restrict Q][R], float C[restrict R][S],
              float D[restrict S][T], float G[restrict P][T]) {
    static float AB[P][R], CD[R][T];
    for (int i = 0; i < R; i++)
        for (int j = 0; j < T; j++) CD[i][j] = 0;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < T; j++)
            for (int k = 0; k < S; k++) CD[i][j] += C[i][k] * D[k][j];
    for (int i = 0; i < P; i++)
        for (int j = 0; j < R; j++) AB[i][j] = 0;
    for (int i = 0; i < P; i++)
        for (int j = 0; j < R; j++)
            for (int k = 0; k < Q; k++) AB[i][j] += A[i][k] * B[k][j];
    for (int i = 0; i < P; i++)
        for (int j = 0; j < T; j++) G[i][j] = 0;
    for (int i = 0; i < P; i++)
        for (int j = 0; j < T; j++)
            for (int k = 0; k < R; k++) G[i][j] += AB[i][k] * CD[k][j];
}
