/* PolyBench floyd-warshall: the shortest path between any two nodes. */
void floyd_warshall(int path[restrict N][N]) {
    for (int k = 0; k < N; k++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                int through = path[i][k] + path[k][j];
                path[i][j] = path[i][j] < through ? path[i][j] : through;
            }
}
